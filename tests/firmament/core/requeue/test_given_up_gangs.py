"""Gangs that are not whole in time are given up when a round begins, and their members leave when it ends."""

from __future__ import annotations

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.results import Delta, DeltaKind
from firmament.core.scheduler import Scheduler
from tests.support.core import Clock, machine, scheduler, task_class

LEAVE = tuple(Delta(DeltaKind.PREEMPT, uid, "m") for uid in ("a", "b"))


def overdue(clock: Clock) -> Scheduler:
    """A gang of three of which two run, longer than it may take; and a single task that waits."""
    core = scheduler(
        machine("m", cpu=300),
        ClassDefined(1, task_class(100)),
        ClassDefined(2, task_class(1000)),
        JobDefined(Job("g", min_members=3)),
        TasksBound("m", 1, ("a", "b"), job="g"),
        TasksSubmitted(2, ("c",), job="g"),
        options=RoundOptions(gang_seconds=30.0),
        clock=clock,
    )
    core.run_round()
    clock.advance(30.0)
    assert core.next_round_in() == 0.0
    return core


def test_members_are_asked_to_leave_before_all_else_and_once():
    core = overdue(Clock())
    core.apply([TasksSubmitted(1, ("single",))])
    assert core.run_round().deltas == (*LEAVE, Delta(DeltaKind.PLACE, "single", "m"))
    core.apply([TasksSubmitted(2, ("too large",))])
    assert core.run_round().deltas == ()


def test_a_round_that_fails_leaves_it_to_the_next():
    core = overdue(Clock())
    core.open_round()
    assert core.run_round().deltas == LEAVE


def test_who_has_gone_while_the_round_was_solved_is_not_asked():
    core = overdue(Clock())
    opened = core.open_round()
    core.apply([TaskRemoved("a")])
    assert core.close_round(opened, opened.solve()).deltas == LEAVE[1:]
