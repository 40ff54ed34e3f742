"""Devices are given away when a round closes: by what is there then, to whole gangs or to none of their members."""

from __future__ import annotations

import numpy as np

from firmament.core.commit.device_allocation import settle_assumed, settle_preemptors
from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from firmament.core.state import transitions
from firmament.core.state.tasks import TaskPhase
from tests.firmament.core.rules.devices.test_preemption import holder
from tests.firmament.core.rules.devices.test_rounds import with_claims
from tests.support.core import Clock, machine, placed, scheduler, tasks
from tests.support.devices import (
    class_record,
    device,
    exactly,
    list_devices,
    own_claim,
    slice_record,
)
from tests.support.rules import ints

ONE = ClassDefined(1, with_claims(own_claim(exactly("gpu", 1))))


def cluster(clock: Clock, *events: Event) -> Scheduler:
    """Two machines with a device each, and events."""
    machines: list[Event] = [machine(name) for name in ("a", "b")]
    devices = [slice_record(name, [device("d0")]) for name in ("a", "b")]
    return scheduler(class_record("gpu"), machines, devices, ONE, *events, clock=clock)


def close_after(core: Scheduler, events: list[Event]) -> RoundResult:
    opened = core.open_round()
    placement = opened.solve()
    core.apply(events)
    return core.close_round(opened, placement)


def given(result: RoundResult) -> dict[str, list[tuple[str, str]]]:
    """Devices by the task that gets them."""
    return {
        delta.uid: list_devices(delta.allocations[0].allocation)
        for delta in result.deltas
        if delta.kind is DeltaKind.PLACE
    }


def test_each_gets_devices_of_its_own():
    result = close_after(cluster(Clock(), TasksSubmitted(1, ("x", "y"))), [])
    assert {uid: [(placed(result)[uid], "d0")] for uid in ("x", "y")} == given(result)
    assert {*placed(result).values()} == {"a", "b"}


def test_who_comes_too_late_for_a_device_waits_and_is_tried_again():
    clock = Clock()
    core = cluster(clock, TasksSubmitted(1, ("x", "y")))
    result = close_after(core, holder("thief", "a", "d0"))
    assert [*placed(result).values()] == ["b"]
    [late] = {"x", "y"} - placed(result).keys()
    core.apply([machine("c"), slice_record("c", [device("d0")])])
    clock.advance(60.0)
    assert given(core.run_round()) == {late: [("c", "d0")]}


def test_a_gang_of_which_one_comes_too_late_gets_nothing():
    clock = Clock()
    core = cluster(clock, JobDefined(Job("g", min_members=2)), TasksSubmitted(1, ("x", "y"), job="g"))
    assert not placed(close_after(core, holder("thief", "a", "d0")))
    core.apply([machine("c"), slice_record("c", [device("d0")])])
    clock.advance(60.0)
    found = given(core.run_round())
    assert found.keys() == {"x", "y"}
    assert sorted(found.values()) == [[("b", "d0")], [("c", "d0")]]


def test_a_gang_gets_the_devices_of_those_it_has_evicted():
    gang: list[Event] = [
        JobDefined(Job("g", min_members=2)),
        TasksSubmitted(1, ("x", "y"), job="g", priority=10),
    ]
    core = cluster(Clock(), *holder("v", "a", "d0"), *holder("w", "b", "d0"), *gang)
    result = core.run_round()
    assert {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT} == {"v", "w"}
    assert sorted(given(result).values()) == [[("a", "d0")], [("b", "d0")]]


# --- tasks that are assumed already, as if their ledger had let them in ----------------------------------------------


def test_who_cannot_be_served_lets_go_of_the_machine_and_backs_off_with_its_gang():
    core = cluster(
        Clock(),
        *(machine(name) for name in ("c", "d")),
        slice_record("c", [device("d0")]),
        JobDefined(Job("g", min_members=2)),
        TasksSubmitted(1, ("x", "y"), job="g"),
        TasksSubmitted(1, ("alone",)),
        *tasks(2, "plain"),
        *holder("thief", "a", "d0"),
    )
    context = core._profile.context
    table, machines = context.cluster.tasks, context.cluster.machines
    where = {"x": "a", "y": "b", "alone": "c", "plain": "d"}
    rows = ints(*(table.row_of[uid] for uid in where))
    transitions.assume(context.cluster, rows, ints(*(machines.row_of[name] for name in where.values())))
    kept, given = settle_assumed(context, rows, np.ones(4, dtype=np.bool_), 100.0)
    assert kept.tolist() == [False, False, True, True]
    assert {index: list_devices(each[0].allocation) for index, each in given.items()} == {2: [("c", "d0")]}
    assert [int(table.state[row]) for row in rows] == [TaskPhase.PENDING] * 2 + [TaskPhase.ASSUMED] * 2
    assert [int(table.machine[row]) for row in rows[:2]] == [-1, -1]
    first = context.configuration.options.first_backoff
    assert table.not_before[rows].tolist() == [100.0 + first, 100.0 + first, 0.0, 0.0]
    assert table.failures[rows].tolist() == [1, 1, 0, 0]


def test_tasks_without_a_gang_fail_alone_and_those_not_kept_are_not_asked():
    core = cluster(Clock(), TasksSubmitted(1, ("x", "y", "z")), *holder("thief", "a", "d0"))
    context = core._profile.context
    table = context.cluster.tasks
    rows = ints(*(table.row_of[uid] for uid in "xyz"))
    transitions.assume(context.cluster, rows[:2], ints(0, 1))
    kept, given = settle_assumed(context, rows, np.array([True, True, False]), 0.0)
    assert kept.tolist() == [False, True, False]
    assert [*given] == [1]


def test_who_comes_after_an_eviction_may_have_what_its_victims_use():
    core = cluster(Clock(), TasksSubmitted(1, ("x", "y")), *holder("v", "a", "d0"), *holder("w", "b", "d0"))
    made = core._cluster
    preemptors = [made.tasks.row_of[uid] for uid in "xy"]
    found = settle_preemptors(made, preemptors, [0, 1], [frozenset({"v"}), frozenset({"v"})])
    assert [each and list_devices(each[0].allocation) for each in found] == [[("a", "d0")], None]
    assert settle_preemptors(made, [], [], []) == []
    plain = scheduler()._cluster
    assert settle_preemptors(plain, [3, 4], [0, 0], [frozenset(), frozenset()]) == [(), ()]
