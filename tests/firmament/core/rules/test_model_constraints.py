"""The kinds of tasks that a cost model tells apart, and its constraint for those that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cost_models.interface import BaseModel, Needs, Promises, Range, ShapeRow
from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.rules.model_constraints import find_kinds, model_constraints
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.rules import ints


class Telling(BaseModel):
    """A constraining model that notes what it is asked, and says nothing if it is told to."""

    name = "telling"
    kind = "overlay"
    range = Range(best=0.0, worst=1.0)
    needs = Needs(kind_labels=("team", "tier"))
    promises = Promises(constraints=True)

    def __init__(self, *, silent: bool = False) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self._silent = silent

    def constraint(
        self, machines: Sequence[Mapping[str, str]], kinds: Sequence[ShapeRow], kind: Any, machine: Any
    ) -> Any:
        self.asked.append((machines, kinds, kind.tolist(), machine.tolist()))
        return None if self._silent else "the constraint"


def scene(*models: Any, events: Sequence[Event] = ()) -> Cluster:
    made = Cluster(constraining_models=models)
    classes = [
        ClassDefined(1, task_class(labels=(("tier", "x"), ("team", "red")))),
        ClassDefined(2, task_class(labels=(("team", "red"), ("tier", "x"), ("other", "1")))),
        ClassDefined(3, task_class(labels=(("team", "blue"),))),
        ClassDefined(4, task_class(labels=(("other", "1"),))),
    ]
    apply_events(made, [machine("a", labels={"zone": "z"}), machine("b"), *classes, *events], 0.0)
    return made


RUNNING = (
    TasksBound("b", 3, ("blue",)),
    TasksBound("a", 2, ("red",)),
    TasksBound("a", 4, ("none",)),
    TasksSubmitted(1, ("waits",)),
)


def test_equal_values_of_the_labels_are_one_kind_in_the_order_of_first_need():
    made = scene(events=RUNNING)
    found = find_kinds(made, ("team", "tier"), [0, 3])
    assert [each.labels for each in found.rows] == [{"team": "red", "tier": "x"}, {"team": "blue"}]
    assert found.by_class == {0: 0, 1: 0, 2: 1}
    placed = zip(found.placed.kind.tolist(), found.placed.machine.tolist(), strict=True)
    assert sorted(placed) == [(0, 0), (1, 1)]


def test_a_task_may_be_left_out_and_other_labels_do_not_matter():
    made = scene(events=RUNNING)
    found = find_kinds(made, ("team",), [2], without=made.tasks.row_of["red"])
    assert [each.labels for each in found.rows] == [{"team": "blue"}]
    assert (found.placed.kind.tolist(), found.placed.machine.tolist()) == ([0], [1])


def test_a_model_is_asked_if_some_class_that_waits_has_a_kind():
    model, silent = Telling(), Telling(silent=True)
    made = scene(model, silent, events=RUNNING)
    assert model_constraints(made, [3]) == ()
    assert not model.asked
    (found,) = model_constraints(made, [0, 3, 2])
    assert (found.model, str(found.constraint)) == ("telling", "the constraint")
    assert found.kind.tolist() == ints(0, -1, 1).tolist()
    labels, kinds, kind, where = model.asked[0]
    assert [dict(each) for each in labels] == [{"zone": "z"}, {}]
    assert len(kinds) == 2
    assert sorted(zip(kind, where, strict=True)) == [(0, 0), (1, 1)]
    assert silent.asked == model.asked
