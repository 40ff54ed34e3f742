"""Places of tasks that have passed others of their strict queue are withdrawn, and no others."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.commit.strict_order import withdraw_passing
from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksSubmitted
from firmament.core.flow.problem import Assignments
from firmament.core.model import Job
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.snapshot import Snapshot
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, uids

NOW = 1000.0


class Part(NamedTuple):
    """Tasks of one class: single ones, or a gang."""

    queue: str
    size: int
    created: float
    priority: int = 0
    gang: bool = False


def _open(parts: list[Part]) -> tuple[Scheduler, Snapshot, dict[str, int]]:
    """Return a scheduler, the snapshot of its round, and the class of each part's tasks by name (p0, p1, …)."""
    events: list[Event] = []
    for number, part in enumerate(parts):
        name = f"p{number}"
        # Each part has a class of its own, as it asks for an amount of its own.
        events.append(ClassDefined(number, task_class(10 + number, queue=part.queue)))
        if part.gang:
            events.append(JobDefined(Job(name, size=part.size, min_members=part.size)))
        created = tuple(part.created + 0.01 * each for each in range(part.size))
        job = name if part.gang else ""
        events.append(TasksSubmitted(number, uids(name, part.size), job, part.priority, created=created))
    core = scheduler(
        machine("m", cpu=100_000),
        machine("n", cpu=100_000),
        flavor("any"),
        *(quota(name, {"any": {"cpu": 90_000}}, order="StrictFIFO") for name in ("strict", "other")),
        quota("free", {"any": {"cpu": 90_000}}, order="BestEffortFIFO"),
    )
    core.apply(events)
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    names = core._cluster.tasks.name
    return core, snapshot, {names[rows[0]].split("-")[0]: cls for cls, rows in enumerate(snapshot.members)}


def _kept(parts: list[Part], served: dict[str, int]) -> tuple[dict[str, int], frozenset[str]]:
    """Return how many tasks of each part keep their places of the ``served`` ones, and the queues that were passed."""
    core, snapshot, cls = _open(parts)
    placed = Assignments.from_single_tasks(
        [(cls[name], 0) for name, count in served.items() for _ in range(count)]
    )
    left, evictions, passed = withdraw_passing(core._cluster, snapshot, placed, (), NOW)
    assert evictions == ()
    count = left.count_per_class(len(snapshot.members)).tolist()
    return {name: count[cls[name]] for name in served if count[cls[name]]}, passed


def test_nothing_is_withdrawn_if_nobody_has_been_passed():
    parts = [Part("strict", 3, 0), Part("strict", 2, 10), Part("free", 1, 20)]
    assert _kept(parts, {"p0": 2}) == ({"p0": 2}, frozenset())
    assert _kept(parts, {"p0": 3, "p1": 1, "p2": 1}) == ({"p0": 3, "p1": 1, "p2": 1}, frozenset())


def test_a_later_task_loses_its_place_in_its_own_queue_alone():
    parts = [Part("strict", 2, 0), Part("strict", 1, 10), Part("other", 1, 20), Part("free", 1, 30)]
    assert _kept(parts, {"p0": 1, "p1": 1, "p2": 1, "p3": 1}) == (
        {"p0": 1, "p2": 1, "p3": 1},
        frozenset({"strict"}),
    )


def test_a_more_important_task_is_not_behind_an_older_one():
    parts = [Part("strict", 1, 0), Part("strict", 1, 10, priority=1)]
    assert _kept(parts, {"p1": 1}) == ({"p1": 1}, frozenset())
    assert _kept(parts, {"p0": 1}) == ({}, frozenset({"strict"}))


def test_a_gang_loses_all_of_its_places():
    parts = [Part("strict", 1, 0), Part("strict", 3, 10, gang=True)]
    assert _kept(parts, {"p1": 3}) == ({}, frozenset({"strict"}))


def test_who_comes_after_a_gang_that_has_lost_its_places_loses_its_own():
    parts = [Part("strict", 1, 0), Part("strict", 2, 10, gang=True), Part("strict", 1, 20)]
    assert _kept(parts, {"p1": 2, "p2": 1}) == ({}, frozenset({"strict"}))


def test_evictions_for_a_task_that_has_passed_another_are_not_made():
    core, snapshot, cls = _open([Part("strict", 1, 0), Part("strict", 1, 10), Part("free", 1, 20)])
    late, free = PreemptionDecision(cls["p1"], 0, (0,), (0,)), PreemptionDecision(cls["p2"], 1, (1,), (1,))
    _, evictions, passed = withdraw_passing(core._cluster, snapshot, Assignments.empty(), (late, free), NOW)
    assert evictions == (free,)
    assert passed == {"strict"}


def test_a_task_for_which_others_are_evicted_has_its_place():
    core, snapshot, cls = _open([Part("strict", 1, 0), Part("strict", 1, 10)])
    first = PreemptionDecision(cls["p0"], 0, (0,), (0,))
    placed = Assignments.single(cls["p1"], 1)
    left, evictions, passed = withdraw_passing(core._cluster, snapshot, placed, (first,), NOW)
    assert left.tasks().cls.tolist() == [cls["p1"]]
    assert evictions == (first,)
    assert passed == frozenset()


@pytest.mark.parametrize("withdrawn", [True, False])
def test_machines_of_withdrawn_places_are_marked_as_changed(withdrawn: bool):
    core, snapshot, cls = _open([Part("strict", 1, 0), Part("strict", 1, 10), Part("free", 1, 20)])
    places = [(cls["p1"], 1), (cls["p2"], 0)] + ([] if withdrawn else [(cls["p0"], 0)])
    core._cluster.dirty.machines.clear()
    withdraw_passing(core._cluster, snapshot, Assignments.from_single_tasks(places), (), NOW)
    row_of = core._cluster.machines.row_of
    assert core._cluster.dirty.machines == ({row_of[snapshot.machine_names[1]]} if withdrawn else set())


def test_a_task_that_has_gone_since_the_round_began_holds_up_nobody():
    core, snapshot, cls = _open([Part("strict", 1, 0), Part("strict", 1, 10)])
    core.apply([TaskRemoved("p0-0")])
    placed = Assignments.single(cls["p1"], 0)
    left, _, passed = withdraw_passing(core._cluster, snapshot, placed, (), NOW)
    assert len(left.cls) == 1
    assert passed == frozenset()


def _expected(parts: list[Part], served: list[int]) -> list[int]:
    """Return how many tasks of each part keep their places: the queue is walked once, from its first task on."""
    kept = list(served)
    for queue in ("strict", "other"):
        turns = sorted(
            (-part.priority, part.created + (0 if part.gang else 0.01 * each), number, each)
            for number, part in enumerate(parts)
            if part.queue == queue
            for each in range(part.size)
        )
        closed = False
        for _, _, number, each in turns:
            part, has = parts[number], kept[number]
            if closed and each < has:
                kept[number] = 0 if part.gang else min(has, each)
            closed |= kept[number] < part.size if part.gang else each >= kept[number]
    return kept


@given(
    drawn=st.lists(
        st.tuples(
            st.sampled_from(("strict", "strict", "other", "free")),
            st.integers(1, 3),
            st.integers(0, 1),
            st.booleans(),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=6,
    ),
    ages=st.permutations(range(6)),
)
def test_what_is_kept_is_what_a_walk_along_each_queue_keeps(
    drawn: list[tuple[str, int, int, bool, int]], ages: list[int]
):
    parts = [
        Part(queue, size, 10.0 * age, priority, gang and size > 1)
        for (queue, size, priority, gang, _), age in zip(drawn, ages, strict=False)
    ]
    served = [
        (part.size if count else 0) if part.gang else min(count, part.size)
        for part, (*_, count) in zip(parts, drawn, strict=True)
    ]
    kept, passed = _kept(parts, {f"p{number}": count for number, count in enumerate(served)})
    expected = _expected(parts, served)
    assert kept == {f"p{number}": count for number, count in enumerate(expected) if count}
    lost = {part.queue for part, had, has in zip(parts, served, expected, strict=True) if has < had}
    assert passed == lost
