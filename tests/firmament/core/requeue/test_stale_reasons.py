"""What waiting tasks were told is brought up to date when machines change, though nothing could help them."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.requeue.requeue import StaleReasons
from tests.support.core import REFRESH, START, Clock, machine, scheduler, task_class, tasks


def message_of(result):
    (unscheduled,) = result.unscheduled
    return unscheduled.message


@pytest.fixture
def waiting():
    """A scheduler of two small machines and a task too large for them, and its clock."""
    clock = Clock()
    large = tasks(1, "large", content=task_class(cpu=100))
    options = RoundOptions(refresh_seconds=REFRESH)
    core = scheduler(machine("m1", cpu=50), machine("m2", cpu=50), large, clock=clock, options=options)
    assert message_of(core.run_round()).startswith("0/2 nodes are available: 2 Insufficient cpu")
    return core, clock


def test_a_cordon_is_told_after_a_while(waiting):
    core, clock = waiting
    assert core.next_round_in() is None
    clock.now += 10.0
    core.apply([machine("m1", cpu=50, cordoned=True)])
    assert core.next_round_in() == REFRESH - 10.0
    clock.now = START + REFRESH
    assert core.next_round_in() == 0.0
    assert "1 Insufficient cpu" in (told := message_of(core.run_round()))
    assert "1 node(s) were unschedulable" in told
    assert core.next_round_in() is None, "once"


def test_changes_are_gathered(waiting):
    core, clock = waiting
    rounds = 0
    for second in range(600):
        clock.now = START + second
        core.apply([machine("m1", cpu=50 + second % 2)])
        if core.next_round_in() == 0.0:
            core.run_round()
            rounds += 1
    assert rounds == 600 // REFRESH - 1


def test_what_a_round_places_itself_makes_nothing_stale():
    clock = Clock()
    core = scheduler(
        machine("m1"), tasks(1, "small"), tasks(2, "large", content=task_class(cpu=10**9)), clock=clock
    )
    assert len(core.run_round().deltas) == 1
    assert core.next_round_in() is None


def test_a_task_that_others_overtake_is_looked_at_once(waiting):
    """A small task that comes later takes some of the room; the large one would be told if that changed its message."""
    core, clock = waiting
    core.apply([*tasks(2, "small", content=task_class(cpu=1))])
    assert len(core.run_round().deltas) == 1
    assert core.next_round_in() == REFRESH
    clock.now += REFRESH
    result = core.run_round()
    assert (result.stats.pending, result.unscheduled) == (1, ())
    assert core.next_round_in() is None


def test_a_gang_that_nothing_could_help_asks_for_no_round():
    events: list[Event] = [JobDefined(Job("j", min_members=2)), ClassDefined(1, task_class(cpu=4000))]
    core = scheduler(machine("m"), events, TasksSubmitted(1, ("a", "b"), job="j"))
    core.run_round()
    assert core.next_round_in() != 0.0


def test_who_waits_for_nobody_asks_for_no_round_while_others_are_being_evicted():
    low: list[Event] = [ClassDefined(1, task_class(cpu=4000)), TasksBound("m", 1, ("low",))]
    core = scheduler(machine("m"), low, tasks(2, "p", content=task_class(4000), priority=1))
    assert {delta.uid for delta in core.run_round().deltas} == {"low", "p"}
    core.apply(tasks(3, "huge", content=task_class(9000)))
    assert core.run_round().deltas == ()
    assert core.next_round_in() != 0.0


def test_when_reasons_are_stale():
    core = scheduler(machine("m"), tasks(1, "t"))
    cluster, stale = core._cluster, StaleReasons(60.0)
    assert stale.next_in(cluster, START) is None, "nobody waits in vain"
    cluster.tasks.unschedulable[cluster.tasks.row_of["t"]] = True
    assert stale.next_in(cluster, START) == 0.0
    assert stale.take_due(cluster, START)
    assert stale.next_in(cluster, START) is None, "all have just been told"
    core.apply([machine("m", cordoned=True)])
    assert [stale.next_in(cluster, START + after) for after in (0.0, 59.0, 60.0, 99.0)] == [
        60.0,
        1.0,
        0.0,
        0.0,
    ]
    assert not stale.take_due(cluster, START + 59.0)
    assert StaleReasons(float("inf")).next_in(cluster, START) is None
    assert stale.take_due(cluster, START + 60.0)
    assert stale.next_in(cluster, START + 99.0) is None


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_round_tells_all_how_machines_are_unless_one_changes_meanwhile(meanwhile: bool):
    core = scheduler(machine("m"), tasks(1, "t"))
    cluster, stale = core._cluster, StaleReasons(60.0)
    stale.open_round(cluster, START)
    if meanwhile:
        core.apply([machine("m", cordoned=True)])
    stale.close_round(cluster)
    stale.round_closed(cluster)
    cluster.tasks.unschedulable[cluster.tasks.row_of["t"]] = True
    assert stale.next_in(cluster, START + 10.0) == (50.0 if meanwhile else None)
