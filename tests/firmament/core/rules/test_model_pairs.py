"""How a round's pairs come from what a cost model states, and what the model says of a single task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Assessment, MachineColumns, Needs, Promises, Range, ShapeRow
from cost_models.pairs import PairTerms, PairVerdict, PlacedKinds, knows_pairs
from firmament.core.configuration import WeightedModel
from firmament.core.constraints.pairs import NO_PAIRS
from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.intake.events import apply_events
from firmament.core.rules.framework.task_verdict import AskedTask, TaskVerdict
from firmament.core.rules.pairs import compile_pairs, judge_pairs
from firmament.core.state.cluster import Cluster
from tests.cost_models.columns import machine_columns
from tests.support.core import machine, task_class
from tests.support.models import Stated, indifferent

COLUMNS = machine_columns("mn")
EMPTY = np.empty(0, dtype=np.int64)
TERMS = PairTerms(
    domain=np.array([0, 1]),
    cost=np.array([[0.0, 4.0], [4.0, 0.0]]),
    rating=np.array([[-np.inf, 9.0], [9.0, -np.inf]]),
    group=np.array([0, 0]),
    stage=np.array([0, 1]),
    source=np.array([0]),
    target=np.array([1]),
    limit=np.array([5.0]),
    amount=np.array([0]),
    link=np.full((2, 2), -1),
    link_limit=EMPTY,
    exceeded="too far",
)


@dataclass
class Paired(Stated):
    """Says of pairs what a test tells it to."""

    terms: PairTerms | None = TERMS
    asked: list[Any] = field(default_factory=list)

    def pair_terms(self, machines: MachineColumns, kinds: Sequence[ShapeRow]) -> PairTerms | None:
        self.asked.append([dict(kind.labels) for kind in kinds])
        return self.terms

    def pair_verdict(
        self, machines: MachineColumns, terms: PairTerms | None, kind: int, placed: PlacedKinds
    ) -> PairVerdict:
        self.asked.append((terms is not None, kind, placed.kind.tolist(), placed.machine.tolist()))
        answer = Assessment(np.array([[7.0, 8.0]]), notes=("new",))
        return PairVerdict(answer, (("a",), ("b",)))


def model(terms: PairTerms | None = TERMS, *, span: Range | None = None) -> Paired:
    made = Paired(indifferent, terms=terms, range=span or Range(best=0.0, worst=50.0))
    made.needs = Needs(kind_labels=("app",))
    made.promises = Promises(pairs=True)
    return made


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    classes = [
        ClassDefined(n, task_class(n, labels=(("app", name), ("other", str(n))) if name else ()))
        for n, name in enumerate(("", "x", "y", "x"))
    ]
    apply_events(made, [machine("m"), machine("n"), *classes, *events], 0.0)
    return made


def row_of(made: Cluster, number: int) -> int:
    return made.classes.row(number)


RUNNING = (TasksBound("n", 2, ("y1",)), TasksBound("m", 0, ("z",)), TasksBound("m", 3, ("x1",)))


class TestRounds:
    def test_waiting_and_running_tasks_by_kind(self):
        made, stated = cluster(*RUNNING), model()
        waiting = [row_of(made, number) for number in (0, 1, 2)]
        rules = compile_pairs(made, [(WeightedModel(stated, 3), stated)], COLUMNS, waiting)
        assert stated.asked == [[{"app": "x"}, {"app": "y"}]]
        assert rules.terms is TERMS
        assert rules.kind.tolist() == [-1, 0, 1]
        placed = zip(rules.resident_kind.tolist(), rules.resident_machine.tolist(), strict=True)
        assert sorted(placed) == [(0, 0), (1, 1)]
        assert rules.units == 3 * COST_UNITS_PER_POINT * 2.0

    def test_what_does_not_steer_costs_nothing(self):
        made, stated = cluster(*RUNNING), model(replace(TERMS, steers=False))
        rules = compile_pairs(made, [(WeightedModel(stated, 3), stated)], COLUMNS, [row_of(made, 1)])
        assert (rules.units, rules.kind.tolist()) == (0.0, [0])

    def test_there_are_none_without_kinds_terms_or_models(self):
        made, silent, stated = cluster(TasksSubmitted(0, ("t",))), model(None), model()
        assert compile_pairs(made, [], COLUMNS, [row_of(made, 1)]) is NO_PAIRS
        assert compile_pairs(made, [(WeightedModel(silent), silent)], COLUMNS, [row_of(made, 1)]) is NO_PAIRS
        assert silent.asked == [[{"app": "x"}]]
        assert compile_pairs(made, [(WeightedModel(stated), stated)], COLUMNS, [row_of(made, 0)]) is NO_PAIRS
        assert stated.asked == [], "it is not asked where no task has a kind"

    def test_a_model_says_whether_it_knows_pairs(self):
        assert knows_pairs(model())
        assert not knows_pairs(Stated(indifferent))


def list_refused(verdict: TaskVerdict) -> list[list[bool]]:
    """The machines that are refused for each reason that refuses any."""
    return [mask.tolist() for _, mask in verdict.refusals if mask.any()]


class TestExplanations:
    def judge(
        self, stated: Paired, *others: Paired, uid: str = "x1", events: Sequence[Event] = RUNNING
    ) -> list[TaskVerdict]:
        made = cluster(*events)
        models = SimpleNamespace(pair_models=[(WeightedModel(each), each) for each in (stated, *others)])
        former = {id(stated): Assessment(np.zeros((1, 2)), notes=("old",))}
        asked = AskedTask(
            made,
            models,
            made.tasks.row_of[uid],
            COLUMNS,
            lambda model: former[id(model)],
        )
        return list(judge_pairs(asked))

    def test_a_task_is_judged_beside_the_others_on_machines(self):
        stated = model()
        (found,) = self.judge(stated)
        assert stated.asked == [[{"app": "x"}, {"app": "y"}], (True, 0, [1], [1])]
        assert found.model is stated
        assert found.answer.raw.tolist() == [[7.0, 8.0]]
        assert list(found.answer.notes) == ["old"], "what is said of bad input is said of the task alone"
        assert found.details == (("a",), ("b",))
        assert list(found.refusals) == []

    def test_a_task_of_no_kind_is_judged_too(self):
        stated = model()
        (found,) = self.judge(stated, uid="z", events=(TasksBound("m", 0, ("z",)),))
        assert stated.asked == [(False, -1, [], [])]
        assert list(found.refusals) == []

    @pytest.mark.parametrize(
        ("change", "refused"),
        [
            ({}, None),
            ({"strict": True}, [True, False]),
            ({"strict": True, "limit": np.array([9.0])}, None),
            ({"strict": True, "limit": np.array([8.0])}, [True, False]),
        ],
    )
    def test_strict_limits_refuse_machines(self, change: dict[str, Any], refused: list[bool] | None):
        """A task of kind x is the source of a pair with the one of kind y, which is on the other machine."""
        (found,) = self.judge(model(replace(TERMS, **change)))
        assert list_refused(found) == ([refused] if refused else [])

    @pytest.mark.parametrize(("capacity", "refused"), [(2, []), (1, [[True, False]])])
    def test_so_do_links_that_are_bounded(self, capacity: int, refused: list[list[bool]]):
        links: dict[str, Any] = {
            "limit": np.array([9.0]),
            "amount": np.array([2]),
            "link": np.array([[-1, 0], [0, -1]]),
            "link_limit": np.array([capacity]),
            "bounded": True,
            "link_full": "full",
        }
        (found,) = self.judge(model(replace(TERMS, **links)))
        assert list_refused(found) == refused

    def test_only_the_first_model_is_asked(self):
        second = model()
        assert len(self.judge(model(), second)) == 1
        assert second.asked == []

    def test_a_model_without_terms_still_judges(self):
        stated = model(None)
        (found,) = self.judge(stated)
        assert stated.asked[1] == (False, 0, [1], [1])
        assert list(found.refusals) == []
