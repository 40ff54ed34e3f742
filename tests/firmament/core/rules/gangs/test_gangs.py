"""The life of gangs by hand: decided all or nothing, kept in their places, given up in time, told about once."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job
from firmament.core.results import DeltaKind, GangPhase, RoundResult
from firmament.core.scheduler import Scheduler
from tests.support.core import Clock, machine, messages, placed, scheduler, task_class, uids

CORE = ClassDefined(1, task_class(cpu=1000))
HUGE = ClassDefined(2, task_class(cpu=3000))


def gang(need: int, job: str = "g", **more: object) -> JobDefined:
    return JobDefined(Job(job, name=f"ns/{job}", min_members=need, **more))  # type: ignore[arg-type]  # by name


def members(*names: str, job: str = "g", cls: int = 1, priority: int = 0) -> TasksSubmitted:
    return TasksSubmitted(cls, names, job=job, priority=priority)


def bound(name: str, *uids: str, job: str = "g") -> TasksBound:
    return TasksBound(name, 1, uids, job=job)


def accept(core: Scheduler, result: RoundResult) -> None:
    core.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in result.deltas])


def phases(result: RoundResult) -> list[tuple[str, GangPhase, int]]:
    return [(state.job, state.phase, state.running) for state in result.gangs]


def test_a_gang_without_room_for_all_leaves_its_places_to_others_in_the_same_round():
    core = scheduler(machine(cpu=2000), CORE, gang(3), members(*uids("g", 3)), TasksSubmitted(1, ("x", "y")))
    result = core.run_round()
    assert placed(result).keys() == {"x", "y"}
    lacks = "gang ns/g needs 3 places at once: 0/1 nodes are available: 1 Insufficient cpu."
    assert messages(result)["g-0"].startswith(lacks)
    assert core.next_round_in() is None


def test_a_gang_is_told_of_machines_that_have_room_for_some_of_it():
    core = scheduler(machine("m", cpu=2000), machine("full", cpu=500), CORE, gang(3), members(*uids("g", 3)))
    told = messages(core.run_round())["g-0"]
    assert told.startswith(
        "gang ns/g needs 3 places at once: 0/2 nodes are available: "
        "1 Insufficient cpu, 1 node(s) had room for some of them, but not for all at once."
    )


def test_a_gang_that_lacks_members_waits_and_room_does_not_wake_it():
    core = scheduler(machine(cpu=500), CORE, gang(3), members("g-0", "g-1"))
    result = core.run_round()
    assert set(messages(result).values()) == {"gang ns/g waits for members: 2 of 3 exist"}
    assert phases(result) == [("g", GangPhase.WAITING, 0)]
    assert core.next_round_in() is None
    core.apply([machine("more")])
    assert core.next_round_in() is None
    core.apply([members("g-2")])
    assert core.next_round_in() == 0
    assert len(core.run_round().deltas) == 3


@pytest.mark.parametrize("first", ["job", "tasks"])
def test_the_order_of_job_and_tasks_loses_no_round(first: str):
    core = scheduler(machine(cpu=2000), CORE)
    events: list[Event] = [gang(3), members(*uids("g", 2))]
    for event in events if first == "job" else events[::-1]:
        core.apply([event])
    assert core.run_round().deltas == ()
    core.apply([machine("n"), members("g-2")])
    assert len(core.run_round().deltas) == 3


def test_two_gangs_never_hold_places_that_the_other_needs():
    core = scheduler(machine(cpu=4000), CORE, gang(3, "a"), gang(3, "b"))
    core.apply([members(*uids("a", 3), job="a"), members(*uids("b", 3), job="b")])
    first = core.run_round()
    assert placed(first).keys() == set(uids("a", 3))
    accept(core, first)
    core.apply([TaskRemoved(uid) for uid in uids("a", 3)])
    assert placed(core.run_round()).keys() == set(uids("b", 3))


def test_the_more_important_gang_goes_first_whatever_their_age():
    core = scheduler(machine(cpu=3000), CORE, gang(3, "a"), gang(3, "b"), members(*uids("a", 3), job="a"))
    core.apply([members(*uids("b", 3), job="b", priority=1)])
    assert placed(core.run_round()).keys() == set(uids("b", 3))


def test_a_gang_of_several_classes_is_decided_as_one():
    core = scheduler(machine("a", cpu=3000), machine("b", cpu=2000), CORE, HUGE, gang(4))
    core.apply([members("s-0", "s-1", "s-2"), members("h-0", cls=2)])
    assert core.run_round().deltas == ()
    core.apply([machine("c", cpu=1000)])
    found = placed(core.run_round())
    assert found["h-0"] == "a"
    assert len(found) == 4


def test_a_replacement_joins_a_running_gang():
    core = scheduler(machine(), CORE, gang(3), bound("m", *uids("g", 3)))
    assert phases(core.run_round()) == [("g", GangPhase.BOUND, 3)]
    core.apply([TaskRemoved("g-0"), members("g-3")])
    assert placed(core.run_round()) == {"g-3": "m"}


def test_what_others_bind_counts_and_wakes_the_rest():
    core = scheduler(machine(cpu=2000), CORE, gang(3), members(*uids("g", 3)))
    assert core.run_round().deltas == ()
    assert core.next_round_in() is None
    core.apply([machine("full", cpu=0), bound("full", "g-0")])
    assert core.next_round_in() == 0
    assert placed(core.run_round()) == {"g-1": "m", "g-2": "m"}


@pytest.mark.parametrize("event", [JobRemoved("g"), gang(1)], ids=["removed", "no gang any more"])
def test_members_of_what_is_no_gang_any_more_go_their_own_ways(event: Event):
    core = scheduler(machine(cpu=2000), CORE, gang(3), members(*uids("g", 2)))
    assert core.run_round().deltas == ()
    core.apply([event])
    assert core.next_round_in() == 0
    assert len(core.run_round().deltas) == 2


def test_a_member_that_changes_job_counts_there():
    core = scheduler(
        machine(), CORE, gang(2, "a"), gang(2, "b"), members("x", job="a"), members("y", job="b")
    )
    assert core.run_round().deltas == ()
    core.apply([members("x", job="b")])
    assert placed(core.run_round()).keys() == {"x", "y"}


def test_a_refused_binding_is_tried_three_times_in_its_place_then_elsewhere():
    clock = Clock()
    core = scheduler(machine("m"), CORE, gang(2), members("g-0", "g-1"), clock=clock)
    accept_one = core.run_round()
    core.report([BindingReport("g-1", "m", bound=True)])
    assert len(accept_one.deltas) == 2
    core.apply([machine("other")])
    for wait in (1.0, 2.0):
        core.report([BindingReport("g-0", "m", bound=False, retry=True)])
        assert core.next_round_in() == wait
        clock.advance(wait)
        assert placed(core.run_round()) == {"g-0": "m"}
    core.report([BindingReport("g-0", "m", bound=False, retry=True)])
    core.apply([machine("m", cordoned=True)])
    clock.advance(4.0)
    assert placed(core.run_round()) == {"g-0": "other"}
    core.report([BindingReport("g-0", "other", bound=False, retry=True)])
    clock.advance(8.0)
    assert placed(core.run_round()) == {"g-0": "other"}  # a new place is kept as well


def test_of_several_refused_bindings_the_one_that_is_due_first_says_when_the_next_round_is():
    clock = Clock()
    core = scheduler(machine("m"), CORE, gang(2), members("g-0", "g-1"), clock=clock)
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=False, retry=True)])
    clock.advance(0.75)
    core.report([BindingReport("g-1", "m", bound=False, retry=True)])
    assert core.next_round_in() == 0.25
    clock.advance(0.25)
    assert placed(core.run_round()) == {"g-0": "m"}
    assert core.next_round_in() == 0.75


def test_a_kept_place_is_not_given_to_others():
    core = scheduler(machine(cpu=2000), CORE, gang(2), members("g-0", "g-1"))
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=False, retry=True)])
    core.apply([TasksSubmitted(1, ("x",), priority=0)])
    assert core.run_round().deltas == ()


def test_a_place_on_a_machine_that_is_gone_is_not_kept():
    clock = Clock()
    core = scheduler(machine(), CORE, gang(2), members("g-0", "g-1"), clock=clock)
    core.run_round()
    core.report([BindingReport("g-1", "m", bound=True), BindingReport("g-0", "m", bound=False, retry=True)])
    core.apply([MachineRemoved("m"), machine("n")])
    assert core.next_round_in() == 0
    assert core.run_round().deltas == ()
    clock.advance(1.0)
    assert placed(core.run_round()) == {"g-0": "n"}


def test_a_task_that_is_submitted_anew_is_not_bound_twice():
    clock = Clock()
    core = scheduler(machine(), CORE, gang(2), members("g-0", "g-1"), clock=clock)
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=False, retry=True)])
    core.apply([TaskRemoved("g-0"), members("g-0")])
    assert placed(core.run_round()) == {"g-0": "m"}
    clock.advance(5.0)
    assert core.run_round().deltas == ()


def test_a_gang_that_does_not_become_whole_is_given_up_once_and_tried_again():
    clock = Clock()
    options = RoundOptions(gang_seconds=30.0)
    core = scheduler(machine(), CORE, gang(3), members(*uids("g", 3)), options=options, clock=clock)
    assert phases(core.run_round()) == [("g", GangPhase.PLACED, 3)]
    core.report([BindingReport("g-0", "m", bound=True)])
    assert core.next_round_in() == 30.0
    clock.advance(30.0)
    result = core.run_round()
    assert [(delta.kind, delta.uid, delta.machine) for delta in result.deltas] == [
        (DeltaKind.PREEMPT, "g-0", "m")
    ]
    assert phases(result) == [("g", GangPhase.FAILED, 0)]
    assert result.gangs[0].message == "not whole 30 s after it was decided"
    assert core.next_round_in() == 60.0
    core.apply([TaskRemoved("g-0"), members("g-3")])
    assert core.run_round().deltas == ()
    assert core.next_round_in() == 60.0
    clock.advance(60.0)
    again = core.run_round()
    assert placed(again).keys() == {"g-1", "g-2", "g-3"}
    accept(core, again)
    assert phases(core.run_round()) == [("g", GangPhase.BOUND, 3)]
    assert core.next_round_in() is None


def test_a_gang_of_which_nothing_is_bound_is_given_up_too():
    clock = Clock()
    core = scheduler(machine(), CORE, gang(2, gang_seconds=5.0), members("g-0", "g-1"), clock=clock)
    core.run_round()
    clock.advance(5.0)
    result = core.run_round()
    assert result.deltas == ()
    assert phases(result) == [("g", GangPhase.FAILED, 0)]
    clock.advance(60.0)
    assert phases(core.run_round()) == [("g", GangPhase.PLACED, 2)]


def test_members_that_leave_do_not_count():
    clock = Clock()
    core = scheduler(machine(), CORE, gang(3, gang_seconds=5.0), members(*uids("g", 3)), clock=clock)
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=True)])
    clock.advance(5.0)
    core.run_round()
    clock.advance(60.0)
    assert core.run_round().deltas == ()  # g-0 is still going: two are no gang
    core.apply([TaskRemoved("g-0"), members("g-3")])
    assert len(core.run_round().deltas) == 3


def test_bound_members_may_stay_when_a_gang_is_given_up():
    clock = Clock()
    options = RoundOptions(gang_seconds=5.0, evict_failed_gangs=False)
    core = scheduler(machine(), CORE, gang(2), members("g-0", "g-1"), options=options, clock=clock)
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=True)])
    clock.advance(5.0)
    assert core.run_round().deltas == ()
    clock.advance(60.0)
    assert placed(core.run_round()) == {"g-1": "m"}


def test_after_a_restart_a_gang_ends_by_the_same_rule():
    clock = Clock()
    options = RoundOptions(gang_seconds=30.0)
    events = (machine(cpu=1000), CORE, gang(2), bound("m", "g-0"), members("g-1"))
    core = scheduler(*events, options=options, clock=clock)
    assert core.run_round().deltas == ()
    assert core.next_round_in() == 30.0
    clock.advance(30.0)
    assert [delta.kind for delta in core.run_round().deltas] == [DeltaKind.PREEMPT]


def test_members_whose_bindings_are_under_way_after_a_restart_do_not_make_a_gang_whole():
    clock = Clock()
    options = RoundOptions(gang_seconds=30.0)
    assumed = TasksBound("m", 1, ("g-1", "g-2"), job="g", assumed=True)
    core = scheduler(machine(), CORE, gang(3), bound("m", "g-0"), assumed, options=options, clock=clock)
    assert phases(core.run_round()) == [("g", GangPhase.PLACED, 3)]
    core.apply([bound("m", "g-1"), TaskRemoved("g-2")])  # one was bound, the other has failed for good
    assert core.run_round().deltas == ()
    clock.advance(30.0)
    told = {delta.uid for delta in core.run_round().deltas if delta.kind is DeltaKind.PREEMPT}
    assert told == {"g-0", "g-1"}


def test_members_whose_bindings_were_under_way_make_a_gang_whole_once_bound():
    assumed = TasksBound("m", 1, ("g-1",), job="g", assumed=True)
    core = scheduler(machine(), CORE, gang(2), bound("m", "g-0"), assumed)
    core.run_round()
    core.apply([bound("m", "g-1")])
    assert phases(core.run_round()) == [("g", GangPhase.BOUND, 2)]


def test_after_a_restart_a_gang_that_had_been_whole_is_not_given_up():
    clock = Clock()
    options = RoundOptions(gang_seconds=30.0)
    events = (machine(cpu=1000), CORE, gang(2, was_whole=True), bound("m", "g-0"), members("g-1"))
    core = scheduler(*events, options=options, clock=clock)
    assert core.run_round().deltas == ()
    clock.advance(1000.0)
    assert core.run_round().deltas == ()
    core.apply([TaskRemoved("g-0")])
    assert core.run_round().deltas == ()
    core.apply([bound("m", "g-0")])  # it begins anew: what has been is over
    core.run_round()
    assert core.next_round_in() == 30.0


def test_a_member_that_is_bound_after_its_gang_was_given_up_goes_too():
    clock = Clock()
    core = scheduler(machine(), CORE, gang(3, gang_seconds=5.0), members(*uids("g", 3)), clock=clock)
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=True)])
    clock.advance(5.0)
    assert [delta.uid for delta in core.run_round().deltas] == ["g-0"]
    core.apply([bound("m", "g-1")])
    assert core.next_round_in() == 0
    [delta] = core.run_round().deltas
    assert (delta.kind, delta.uid, delta.machine) == (DeltaKind.PREEMPT, "g-1", "m")
    core.report([BindingReport("g-1", "m", bound=False, reason="a budget says no")])
    assert core.run_round().deltas == ()  # asked once
    assert core.next_round_in() == 60.0


def test_nor_is_what_remains_of_one_that_was_told_to_leave_as_a_whole():
    clock = Clock()
    core = scheduler(
        machine(cpu=3000), CORE, HUGE, gang(2, gang_seconds=5.0), bound("m", "g-0", "g-1"), clock=clock
    )
    core.run_round()
    core.apply([TasksSubmitted(2, ("vip",), priority=9)])
    told = core.run_round().deltas
    assert [delta.uid for delta in told if delta.kind is DeltaKind.PREEMPT] == ["g-0", "g-1"]
    core.apply([TaskRemoved("g-1"), TaskRemoved("vip")])
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=False, retry=True)])
    assert core.next_round_in() in (0, None)
    core.run_round()
    clock.advance(60.0)
    assert core.run_round().deltas == ()


def test_nobody_makes_way_for_a_member_whose_gang_goes_as_a_whole_in_the_same_round():
    core = scheduler(
        machine("m", cpu=3000),
        machine("small", cpu=1000),
        CORE,
        HUGE,
        gang(3),
        TasksBound("m", 1, uids("g", 3), job="g", priority=5),
        TasksBound("small", 1, ("low",)),
    )
    core.apply([members("g-3", priority=5), TasksSubmitted(2, ("vip",), priority=9)])
    told = {delta.uid for delta in core.run_round().deltas if delta.kind is DeltaKind.PREEMPT}
    assert told == {"g-0", "g-1", "g-2"}


def test_a_gang_that_has_been_whole_is_never_given_up():
    clock = Clock()
    options = RoundOptions(gang_seconds=30.0)
    core = scheduler(machine(cpu=2000), CORE, gang(2), bound("m", "g-0", "g-1"), options=options, clock=clock)
    core.run_round()
    core.apply([TaskRemoved("g-0"), machine(cpu=1000), members("g-2")])
    core.run_round()
    assert core.next_round_in() is None
    clock.advance(1000.0)
    assert core.run_round().deltas == ()


MEANWHILE: dict[str, tuple[Event, ...]] = {
    "a running member goes": (TaskRemoved("g-0"),),
    "it needs more": (gang(5),),
    "a machine goes": (MachineRemoved("n"),),
    "a member goes": (TaskRemoved("g-1"),),
    "a member goes to another job": (members("g-1", job=""),),
}


@pytest.mark.parametrize("events", MEANWHILE.values(), ids=MEANWHILE)
def test_events_during_a_round_do_not_split_a_gang(events: tuple[Event, ...]):
    core = scheduler(machine("m", cpu=2000), machine("n", cpu=2000), CORE, gang(4), bound("m", "g-0"))
    core.apply([members("g-1", "g-2", "g-3")])
    opened = core.open_round()
    placement = opened.solve()
    assert placement.assignments.count.sum() == 3
    core.apply(events)
    found = placed(core.close_round(opened, placement))
    assert not {"g-2", "g-3"} & found.keys()


def test_a_gang_that_appears_during_a_round_is_not_split():
    core = scheduler(machine(cpu=2000), CORE, members(*uids("g", 3)))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([gang(3)])
    assert core.close_round(opened, placement).deltas == ()
    core.apply([machine("n")])
    assert len(core.run_round().deltas) == 3


def test_what_a_failed_round_had_to_tell_is_told_by_the_next():
    clock = Clock()
    core = scheduler(machine(), CORE, gang(2), members("g-0", "g-1"), clock=clock)
    core.run_round()
    core.report([BindingReport("g-0", "m", bound=False, retry=True)])
    clock.advance(1.0)
    core.open_round()  # and its solver fails
    assert placed(core.run_round()) == {"g-0": "m"}


def test_the_state_of_a_gang_that_was_tried_in_vain_says_why_it_waits():
    core = scheduler(machine(cpu=2000), CORE, gang(3), members(*uids("g", 3)))
    result = core.run_round()
    [state] = result.gangs
    assert state.phase is GangPhase.WAITING
    assert state.message.startswith("gang ns/g needs 3 places at once: 0/1 nodes are available")


def test_nothing_is_told_of_a_gang_that_is_none_any_more_when_its_round_ends():
    core = scheduler(machine(cpu=2000), CORE, gang(3), members(*uids("g", 3)))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([JobRemoved("g")])
    assert core.close_round(opened, placement).gangs == ()
    core.apply([gang(4)])
    assert [state.message for state in core.run_round().gangs] == [
        "gang ns/g waits for members: 3 of 4 exist"
    ]


def test_states_are_told_once():
    core = scheduler(machine(), CORE, gang(2), members("g-0"))
    assert phases(core.run_round()) == [("g", GangPhase.WAITING, 0)]
    core.apply([members("g-0")])
    assert core.next_round_in() is None
    core.apply([members("g-1")])
    result = core.run_round()
    assert phases(result) == [("g", GangPhase.PLACED, 2)]
    accept(core, result)
    assert core.next_round_in() == 0
    assert phases(core.run_round()) == [("g", GangPhase.BOUND, 2)]
    assert core.next_round_in() is None
