"""Which tasks on machines take part when tasks may be evicted, in which order, and what budgets allow."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import BindingReport, ClassDefined, Event, RecordUpserted, TasksBound
from firmament.core.model import Requirement, TaskSelector
from firmament.core.preemption.problem import LOWEST_WEIGHT, PreemptionProblem
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.disruption_budgets import MOST_ALLOWED, Budget, read_budgets
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import Clock, machine, scheduler, task_class, tasks

RUNNING = task_class(1000, labels=(("app", "a"),), namespace="ns")
OTHER = task_class(1000, labels=(("app", "b"),), namespace="ns")


def bound(
    where: str, *uids: str, cls: int = 1, priority: int = 0, since: float = 5.0, names: tuple[str, ...] = ()
) -> TasksBound:
    return TasksBound(where, cls, uids, priority=priority, names=names, assigned=(since,) * len(uids))


def budget(name: str = "ns/pdb", **payload: Any) -> RecordUpserted:
    content = {"namespace": "ns", "selector": [], "allowed": 1, **payload}
    return RecordUpserted(BUDGET_RECORD, name, json.dumps(content).encode())


def core(*events: Event, options: RoundOptions | None = None) -> Scheduler:
    """Machines b and a (in this order), and two classes of tasks that run."""
    made = scheduler(options=options, clock=Clock())
    made.apply([machine("b"), machine("a"), *tasks(1, content=RUNNING), *tasks(2, content=OTHER), *events])
    return made


def candidates(made: Scheduler) -> PreemptionProblem | None:
    """What a round finds when it opens."""
    opened = made.open_round()
    assert opened.snapshot is not None
    return opened.snapshot.preemption


def found(*events: Event, options: RoundOptions | None = None) -> tuple[list[str], PreemptionProblem]:
    """The uids of the tasks that take part, and all that is said of them."""
    made = core(*events, options=options)
    posed = candidates(made)
    assert posed is not None
    return [made._cluster.tasks.uid[row] for row in posed.row.tolist()], posed


def wanting(priority: int = 10, **content: Any) -> list[Event]:
    return tasks(9, "waits", content=task_class(9000, **content), priority=priority)


def test_tasks_are_listed_by_machine_then_the_least_important_then_the_latest_start():
    uids, posed = found(
        bound("a", "high", priority=5, since=1.0),
        bound("a", "old", priority=-3, since=1.0),
        bound("a", "young", priority=-3, since=9.0),
        bound("a", "twin", priority=-3, since=9.0),
        bound("b", "other", cls=2, priority=7, since=2.0),
        *wanting(),
    )
    assert uids == ["other", "young", "twin", "old", "high"]
    assert posed.machine.tolist() == [0, 1, 1, 1, 1]
    assert posed.victim_priority.tolist() == [7, -3, -3, -3, 5]
    assert posed.weight.tolist() == [LOWEST_WEIGHT + each for each in (7, -3, -3, -3, 5)]
    assert posed.started.tolist() == [2.0, 9.0, 9.0, 1.0, 1.0]
    assert posed.leaving.tolist() == [False] * 5
    assert posed.kind.tolist() == [1, 0, 0, 0, 0]
    assert posed.priority.tolist() == [10]
    assert posed.may.tolist() == [True]
    assert posed.granted.tolist() == [False] * 5
    assert (posed.budgets, posed.allowed.tolist()) == (((), ()), [])
    assert posed.requests[:, posed.requests.argmax(axis=1)[0]].tolist() == [1000, 1000]


@pytest.mark.parametrize(("priority", "expected"), [(9, ["runs"]), (10, None), (11, None)])
def test_only_less_important_tasks_take_part(priority: int, expected: list[str] | None):
    made = core(bound("a", "runs", priority=priority), *wanting(10))
    posed = candidates(made)
    assert (
        None if posed is None else [made._cluster.tasks.uid[row] for row in posed.row.tolist()]
    ) == expected


def test_the_most_important_class_says_who_takes_part_and_each_whether_it_may_evict():
    uids, posed = found(
        bound("a", "low", priority=3),
        bound("a", "high", priority=8),
        bound("b", "equal", priority=9),
        *tasks(7, "mean", content=task_class(9000), priority=3),
        *tasks(8, "more", content=task_class(9001), priority=4),
        *wanting(9),
    )
    assert uids == ["low", "high"]
    assert dict(zip(posed.priority.tolist(), posed.may.tolist(), strict=True)) == {3: False, 4: True, 9: True}


def test_tasks_that_never_preempt_evict_nobody():
    assert candidates(core(bound("a", "runs"), *wanting(never_preempts=True))) is None
    _, posed = found(
        bound("a", "runs"),
        *tasks(8, "polite", content=task_class(9001, never_preempts=True), priority=99),
        *wanting(10),
    )
    assert dict(zip(posed.priority.tolist(), posed.may.tolist(), strict=True)) == {99: False, 10: True}


def test_without_preemption_or_without_tasks_on_machines_nobody_takes_part():
    assert candidates(core(bound("a", "runs"), *wanting(), options=RoundOptions(preemption=False))) is None
    assert candidates(core(*wanting())) is None


def test_tasks_whose_binding_is_not_confirmed_do_not_take_part():
    made = core(bound("a", "runs"), *tasks(3, "new", content=task_class(1000)))
    (delta,) = made.run_round().deltas
    made.apply(wanting())
    posed = candidates(made)
    assert posed is not None
    assert [made._cluster.tasks.uid[row] for row in posed.row.tolist()] == ["runs"]
    made = core(*tasks(3, "new", content=task_class(1000)))
    (delta,) = made.run_round().deltas
    made.report([BindingReport("new", delta.machine, bound=True)])
    made.apply(wanting())
    assert candidates(made) is not None


def test_leaving_tasks_take_part_however_important_they_are_if_another_may_be_evicted():
    going: list[Event] = [
        ClassDefined(3, replace(RUNNING, terminating=True)),
        bound("a", "going", cls=3, priority=50),
    ]
    uids, posed = found(*going, bound("b", "runs"), *wanting())
    assert uids == ["runs", "going"]
    assert posed.leaving.tolist() == [False, True]
    assert candidates(core(*going, *wanting())) is None


# --- quotas ----------------------------------------------------------------------------------------------------------


def drawing(within: str = "LowerPriority") -> list[Event]:
    """A queue, a class of it that runs, and a task of it that waits."""
    return [
        flavor("any"),
        quota("q", {"any": {"cpu": 2000}}, preemption={"within": within}),
        ClassDefined(5, task_class(1000, queue="q")),
        *tasks(9, "waits", content=task_class(2000, queue="q"), priority=10),
    ]


def test_where_quota_may_be_taken_back_those_who_draw_on_it_take_part_however_important():
    uids, posed = found(
        *drawing(),
        bound("a", "late", cls=5, priority=50),
        bound("a", "without", priority=50),
        bound("b", "early", cls=5, priority=3),
        bound("b", "low"),
    )
    assert uids == ["low", "early", "late"]
    assert posed.draw.tolist() == [-1, 1, 1]
    assert posed.reclaims.tolist() == [True]
    # By age: first the task that waits, then those that were bound, in the order of events.
    assert posed.since.tolist() == [0]
    assert posed.age.tolist() == [3, 2, 1]


def test_where_nobody_evicts_for_quota_nothing_is_said_of_it():
    uids, posed = found(*drawing("Never"), bound("a", "high", cls=5, priority=50), bound("b", "low"))
    assert uids == ["low"]
    assert (posed.draw.tolist(), posed.reclaims.tolist(), posed.age.tolist()) == ([], [], [])


# --- budgets ---------------------------------------------------------------------------------------------------------


def allowances(*records: RecordUpserted, names: tuple[str, ...] = ("ns/one", "ns/two")) -> PreemptionProblem:
    _, posed = found(
        bound("a", "one", "two", names=names),
        bound("b", "three", cls=2, names=("ns/three",)),
        *records,
        *wanting(),
    )
    return posed


def test_budgets_cover_kinds_in_order_of_their_names():
    app = [{"key": "app", "operator": "In", "values": ["a"]}]
    posed = allowances(budget("ns/z", allowed=3), budget("ns/a", selector=app, allowed=2))
    assert posed.allowed.tolist() == [2, 3]
    by_task = [posed.budgets[kind] for kind in posed.kind.tolist()]
    assert posed.machine.tolist() == [0, 1, 1]
    assert by_task == [(1,), (0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("payload", "allowed"),
    [({"allowed": 0}, 0), ({"allowed": -4}, 0), ({"allowed": 2**40}, MOST_ALLOWED), ({"allowed": 7}, 7)],
)
def test_allowances_are_neither_negative_nor_too_large_to_count(payload: dict[str, Any], allowed: int):
    assert allowances(budget(**payload)).allowed.tolist() == [allowed]


def test_tasks_that_a_budget_has_counted_are_a_kind_of_their_own():
    posed = allowances(budget(disrupted=["ns/two"], allowed=1))
    assert posed.kind.tolist()[0] == 1
    one, two = posed.kind.tolist()[1:]
    assert sorted([one, two]) == [0, 2]
    assert [posed.budgets[kind] for kind in (0, 1, 2)] == [(0,), (0,), ()]
    assert sorted(posed.granted.tolist()) == [False, False, True]
    assert posed.granted.tolist() == [kind == 2 for kind in posed.kind.tolist()]
    assert posed.requests.shape[0] == 3


def test_tasks_counted_by_the_same_budgets_are_one_kind():
    posed = allowances(budget(disrupted=["ns/one", "ns/two", "ns/gone"]))
    assert posed.kind.tolist() == [1, 2, 2]
    assert posed.budgets == ((0,), (0,), ())


def test_other_namespaces_and_malformed_budgets_cover_nothing():
    posed = allowances(
        budget("ns/a", selector=None),
        RecordUpserted(BUDGET_RECORD, "ns/b", b"{"),
    )
    assert set(posed.budgets) == {()}
    assert posed.allowed.tolist() == [1, 0]


NOTHING = Budget(TaskSelector(nothing=True), 0)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({}, Budget(TaskSelector(nothing=True, namespaces=("",)), 0)),
        ({"selector": []}, Budget(TaskSelector(namespaces=("",)), 0)),
        (
            {
                "namespace": "ns",
                "selector": [
                    {"key": "k", "operator": "In", "values": ["v", 7]},
                    {"key": "l", "operator": "Exists"},
                ],
                "allowed": "3",
                "disrupted": ["x", 1],
            },
            Budget(
                TaskSelector(
                    labels=(Requirement("k", "In", ("v", "7")), Requirement("l", "Exists", ())),
                    namespaces=("ns",),
                ),
                3,
                frozenset({"x", "1"}),
            ),
        ),
        ([], NOTHING),
        (7, NOTHING),
        ({"selector": [], "allowed": "many"}, NOTHING),
        ({"selector": [], "allowed": None}, NOTHING),
        ({"selector": [{"key": "k"}]}, NOTHING),
        ({"selector": ["k"]}, NOTHING),
        ({"selector": [{"key": "k", "operator": "In", "values": "v"}]}, NOTHING),
        ({"selector": [], "disrupted": "x"}, NOTHING),
        ({"selector": [], "disrupted": None, "allowed": 1}, Budget(TaskSelector(namespaces=("",)), 1)),
    ],
)
def test_payloads_of_budgets(payload: object, expected: Budget):
    made = core(RecordUpserted(BUDGET_RECORD, "ns/pdb", json.dumps(payload).encode()))
    assert read_budgets(made._cluster) == {"ns/pdb": expected}


def test_a_payload_that_is_no_json_covers_nothing():
    made = core(RecordUpserted(BUDGET_RECORD, "x", b"\xff"), RecordUpserted(BUDGET_RECORD, "a", b""))
    assert list(read_budgets(made._cluster).items()) == [("a", NOTHING), ("x", NOTHING)]


@pytest.mark.parametrize(("stated", "left"), [(2, 1), (1, 0), (0, 0)])
def test_evictions_since_a_record_came_are_subtracted(stated: int, left: int):
    made = core(
        bound("a", "one"),
        bound("b", "two", priority=3),
        budget(allowed=stated),
        *tasks(3, "first", content=task_class(3500), priority=5),
    )
    assert [delta.uid for delta in made.run_round().deltas][:1] == ["one"]
    made.apply(wanting())
    posed = candidates(made)
    assert posed is not None
    assert posed.allowed.tolist() == [left]
