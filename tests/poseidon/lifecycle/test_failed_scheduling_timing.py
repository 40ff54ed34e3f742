"""When pods are told why they wait: at once if the reasons are new, later if only counts are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from poseidon.lifecycle.actions import Action, AnnounceUnschedulable
from poseidon.lifecycle.failed_scheduling_timing import (
    MESSAGE,
    OUTAGE_SECONDS,
    AnnouncementOptions,
    PendingReasons,
    reasons_of,
)
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.pods.tasks import Task
from tests.support.core import START, Clock

FULL = "0/3 nodes are available: 3 Insufficient cpu."
FULLER = "0/4 nodes are available: 4 Insufficient cpu."
TAINTED = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)."


def record(name: str = "a", *, schedulable: bool = True, **fields: str) -> PodRecord:
    task = Task(f"pod-{name}", f"default/{name}", None, "", 0, 0.0)  # type: ignore[arg-type]  # no traits are read
    return PodRecord(task, schedulable, **fields)  # type: ignore[arg-type]  # fields by name


class Known:
    """Records by uid."""

    def __init__(self, records: tuple[PodRecord, ...]) -> None:
        self.records = {each.task.uid: each for each in records}

    def __iter__(self) -> Iterator[PodRecord]:
        return iter(self.records.values())

    def get(self, uid: str) -> PodRecord | None:
        return self.records.get(uid)


class Told:
    """The reasons of some pods, and what was announced."""

    def __init__(self, *records: PodRecord) -> None:
        self.clock = Clock()
        self.known = Known(records)
        self._actions: list[Action] = []
        self.reasons = PendingReasons(
            cast("PodRecords", self.known), self._actions, self.clock, AnnouncementOptions(counts_after=60.0)
        )

    def take(self) -> list[tuple[str, str]]:
        """Name and message of each announcement since the last time."""
        taken = [(each.pod.name, each.message) for each in self.announcements()]
        self._actions.clear()
        return taken

    def announcements(self) -> list[AnnounceUnschedulable]:
        return [each for each in self._actions if isinstance(each, AnnounceUnschedulable)]


def test_reasons_are_compared_without_counts_and_order():
    assert reasons_of(FULL) == reasons_of(FULLER) == "Insufficient cpu"
    assert reasons_of("0/3 nodes are available: 2 b, 1 a. Others were faster.") == "a, b"
    assert reasons_of("waits for gang 1") == "waits for gang 1"


def test_a_new_reason_is_told_at_once_and_a_new_count_after_a_minute():
    pod = record()
    told = Told(pod)
    told.reasons.consider(pod, FULL)
    assert told.announcements() == [AnnounceUnschedulable(pod.ref, FULL, was_unschedulable=False)]
    assert (pod.message, pod.said_here, pod.announced_at) == (FULL, True, START)
    told.take()
    told.reasons.consider(pod, FULLER)
    told.clock.advance(59.9)
    told.reasons.say_due()
    assert told.take() == []
    told.clock.advance(0.1)
    told.reasons.say_due()
    assert told.announcements() == [AnnounceUnschedulable(pod.ref, FULLER, was_unschedulable=True)]
    told.take()
    told.reasons.say_due()
    told.reasons.consider(pod, TAINTED)
    assert told.take() == [("a", TAINTED)], "not put off, as the reasons are new"
    told.clock.advance(60.0)
    told.reasons.say_due()
    told.reasons.consider(pod, TAINTED.replace("1 ", "2 "))
    assert told.take() == [("a", TAINTED.replace("1 ", "2 "))], "the last one is a minute old"


def test_of_what_is_put_off_the_newest_is_told_unless_it_is_as_before():
    pod, other = record("a"), record("b")
    told = Told(pod, other)
    for each in (pod, other):
        told.reasons.consider(each, FULL)
        told.reasons.consider(each, FULLER)
    told.take()
    told.reasons.consider(pod, FULLER.replace("4", "5"))
    told.reasons.consider(other, FULL)
    told.clock.advance(60.0)
    told.reasons.say_due()
    assert told.take() == [("a", FULLER.replace("4", "5"))]


def test_what_was_put_off_waits_a_minute_from_what_was_told_since():
    pod = record()
    told = Told(pod)
    told.reasons.consider(pod, FULL)
    told.reasons.consider(pod, FULLER)
    told.clock.advance(30.0)
    told.reasons.consider(pod, TAINTED)
    told.reasons.consider(pod, TAINTED.replace("2 ", "3 "))
    told.take()
    told.clock.advance(30.0)
    told.reasons.say_due()
    assert told.take() == []
    told.clock.advance(30.0)
    told.reasons.say_due()
    assert told.take() == [("a", TAINTED.replace("2 ", "3 "))]


@pytest.mark.parametrize("what", ["placed", "gone", "withdrawn"])
def test_nothing_put_off_is_told_of_pods_that_wait_no_more(what):
    pod = record()
    told = Told(pod)
    told.reasons.consider(pod, FULL)
    told.reasons.consider(pod, FULLER)
    told.take()
    if what == "placed":
        pod.binding = "n1"
    elif what == "gone":
        told.known.records.clear()
    else:
        pod.message = ""
    told.clock.advance(60.0)
    told.reasons.say_due()
    assert told.take() == []
    pod.binding = "n1"
    told.reasons.consider(pod, TAINTED)
    assert told.take() == [], "it has a place"


def test_why_a_pod_is_held_back_is_told_if_it_is_for_this_scheduler():
    mine, others, waiting = (
        record("a", group_wait="w"),
        record("b", schedulable=False, group_wait="w"),
        record("c"),
    )
    told = Told(mine, others, waiting)
    for each in (mine, others, waiting):
        told.reasons.consider_wait(each)
    assert told.take() == [("a", "w")]
    told.reasons.report_wait(waiting, "a volume is made")
    told.reasons.report_wait(waiting, "a volume is made")
    told.reasons.report_wait(waiting, "two volumes are made")
    assert told.take() == [("c", "a volume is made"), ("c", "two volumes are made")]


def test_waiting_pods_are_told_of_an_outage_once_it_lasts_and_new_ones_every_5_seconds():
    new, known = record("new"), record("known", message=FULL)
    kept = [
        record("held", queue_wait="w"),
        record("running", node="n1"),
        record("not-mine", schedulable=False),
    ]
    told = Told(new, known, *kept)
    told.reasons.note_solver(solver_answers=False)
    told.clock.advance(OUTAGE_SECONDS - 0.1)
    told.reasons.note_solver(solver_answers=False)
    assert told.take() == []
    told.clock.advance(0.1)
    told.reasons.note_solver(solver_answers=False)
    assert [(each.pod.name, each.was_unschedulable, each.undecided) for each in told.announcements()] == [
        ("new", False, True),
        ("known", True, False),
    ]
    assert {message for _, message in told.take()} == {MESSAGE}
    late = record("late")
    told.known.records[late.task.uid] = late
    told.clock.advance(4.9)
    told.reasons.note_solver(solver_answers=False)
    assert told.take() == []
    told.clock.advance(0.1)
    told.reasons.note_solver(solver_answers=False)
    assert told.take() == [("late", MESSAGE)]


def test_an_answer_ends_an_outage():
    told = Told(record())
    for answers in (False, True, False):
        told.reasons.note_solver(solver_answers=answers)
        told.clock.advance(OUTAGE_SECONDS - 0.1)
    told.reasons.note_solver(solver_answers=False)
    assert told.take() == []
    told.clock.advance(0.1)
    told.reasons.note_solver(solver_answers=False)
    assert told.take() == [("a", MESSAGE)]
