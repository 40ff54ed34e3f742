"""Changes of one level of a tree of groups: which are tried, in which order, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cost_models.group_terms import LevelRule
from firmament.core.changes import CureKind
from firmament.core.cures.group_tree_cures import cures_by_level
from firmament.core.events import TasksSubmitted
from firmament.core.model import Job, JobGroup, Machine
from firmament.core.rescheduling.trials import TogetherChange

JOB = Job(
    "g",
    groups=(
        JobGroup("all", least=2, within=("zone",)),
        JobGroup("left", "all", least=1, within=("rack",)),
        JobGroup("right", "all", least=1, within=("rack", "zone")),
    ),
)
WAITING = [TasksSubmitted(1, ("t",))]


class Trying:
    """Tries changes of a job, of which some help."""

    def __init__(self, helps: Any = lambda within: not within) -> None:
        self.tried: list[tuple[tuple[str, ...], ...]] = []
        self._helps = helps
        self._labels = {
            f"m{at}": {"host": f"h{at}", "rack": f"r{at // 2}", "row": f"w{at // 4}", "zone": f"z{at // 8}"}
            for at in range(16)
        }

    @property
    def machines(self) -> Sequence[str]:
        return list(self._labels)

    def machine(self, name: str) -> Machine:
        return Machine(name, {}, labels=self._labels[name])

    def find_places_of_all(
        self, waiting: Any, change: TogetherChange, others: Any
    ) -> Mapping[str, str] | None:
        assert (waiting, others, change.former) == (WAITING, (), JOB)
        assert change.job is not None
        within = tuple(each.within for each in change.job.groups)
        self.tried.append(within)
        return {"t": "m3", "u": "m4"} if self._helps(within) else None


def cures(trials: Trying, tries: int = 99) -> list[tuple[CureKind, str, object, str, int]]:
    asked: Any = trials
    return [
        (step.kind, step.subject, step.after, cure.machine, cure.together)
        for cure in cures_by_level(asked, WAITING, JOB, tries)
        for step in cure.steps
    ]


def test_levels_are_tried_from_the_tasks_up_and_labels_from_the_finest():
    trials = Trying()
    assert cures(trials) == []
    assert trials.tried == [
        (("zone",), ("row",), ("rack", "zone")),
        (("zone",), ("row",), ("row", "zone")),
        (("zone",), ("zone",), ("rack", "zone")),
        (("zone",), ("zone",), ("zone", "zone")),
        (("zone",), (), ("rack", "zone")),
        (("zone",), (), ("zone",)),
        (("zone",), ("rack",), ("rack",)),
        ((), ("rack",), ("rack", "zone")),
    ]


def test_at_most_one_cure_of_each_kind_is_found():
    trials = Trying(lambda within: "rack" not in within[1] + within[2] or within[0] == ())
    assert cures(trials) == [
        (CureKind.WIDEN, "topology constraint of the 2 groups on level 2 by rack", "row", "m3", 2),
        (CureKind.DROP, "topology constraint of the 2 groups on level 2 by rack", None, "m3", 2),
    ]
    only = Trying(lambda within: within[2] == ("rack",))
    assert cures(only) == [(CureKind.DROP, "topology constraint of group right by zone", None, "m3", 2)]
    root = Trying(lambda within: within[0] == ())
    assert cures(root) == [(CureKind.DROP, "topology constraint of group all by zone", None, "m3", 2)]


@pytest.mark.parametrize("tries", [0, 1, 3])
def test_tries_are_limited(tries: int):
    trials = Trying()
    assert cures(trials, tries) == []
    assert len(trials.tried) == tries


class Dividing(Trying):
    """Tries changes of a job whose groups are divided over labels; none helps."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[list[tuple[str, ...]]] = []

    def find_places_of_all(
        self, waiting: Any, change: TogetherChange, others: Any
    ) -> Mapping[str, str] | None:
        assert change.job is not None
        self.left.append([tuple(key for key, _ in each.divided) for each in change.job.groups])
        return None


@pytest.mark.parametrize("larger", [1, 2])
def test_rules_that_divide_a_level_are_dropped_the_deepest_level_and_its_largest_group_first(larger: int):
    rule = LevelRule()
    job = Job(
        "g",
        groups=(
            JobGroup("all", least=2, divided=(("zone", rule),)),
            JobGroup("left", "all", least=5, divided=(("rack", rule), ("host", rule))),
            JobGroup("right", "all", least=5 * larger - 1, divided=(("rack", rule),)),
        ),
    )
    trials = Dividing()
    asked: Any = trials
    assert list(cures_by_level(asked, WAITING, job, 99)) == []
    both = ("rack", "host")
    assert trials.left == [
        [("zone",), ("rack",), ("rack",)],
        [("zone",), ("host",), ("rack",)] if larger == 1 else [("zone",), both, ()],
        [("zone",), ("host",), ()],
        [(), both, ("rack",)],
    ]


def test_a_rule_that_divides_is_called_by_its_group_and_label():
    job = Job("g", groups=(JobGroup("all", least=2, divided=(("zone", LevelRule()),)),))

    class Helping(Dividing):
        def find_places_of_all(self, waiting: Any, change: TogetherChange, others: Any) -> Any:
            super().find_places_of_all(waiting, change, others)
            return {"t": "m3"}

    asked: Any = Helping()
    (cure,) = cures_by_level(asked, WAITING, job, 99)
    assert [(step.kind, step.subject, step.after) for step in cure.steps] == [
        (CureKind.DROP, "rule of group all by zone", None)
    ]
    assert (cure.machine, cure.together) == ("m3", 1)
