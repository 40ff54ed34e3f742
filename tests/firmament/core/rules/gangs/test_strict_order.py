"""Which tasks are in gangs that have no place in the order of a strict queue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job, JobGroup
from firmament.core.rules.gangs.strict_order import find_exempt_tasks
from firmament.core.scheduler import Scheduler
from firmament.core.state.tasks import TaskPhase
from tests.support.core import machine, scheduler, task_class, uids

NOW = 50.0


def _exempt(core: Scheduler, queues: dict[str, int]) -> set[str]:
    """Return the uids of the exempt tasks among those that wait; ``queues``: the queue of each."""
    tasks = core._cluster.tasks
    rows = np.array([tasks.row_of[uid] for uid in queues], dtype=np.int64)
    found = find_exempt_tasks(core._cluster, rows, np.array([*queues.values()], dtype=np.int64), NOW)
    return {uid for uid, exempt in zip(queues, found.tolist(), strict=True) if exempt}


def _gang(name: str, placed: int, waiting: int, need: int) -> Scheduler:
    members = uids(name, placed + waiting)
    return scheduler(
        machine("m"),
        JobDefined(Job(name, size=need, min_members=need)),
        ClassDefined(1, task_class(10)),
        TasksBound("m", 1, members[:placed], job=name),
        TasksSubmitted(1, members[placed:], name),
    )


@pytest.mark.parametrize(
    ("placed", "waiting", "need", "exempt"),
    [
        (0, 3, 3, False),
        (0, 2, 3, True),  # lacks a member
        (1, 2, 3, False),  # the others complete it
        (1, 1, 3, True),
        (3, 1, 3, True),  # a further member
        (2, 3, 4, False),
    ],
)
def test_a_gang_has_a_place_in_the_order_if_it_can_become_whole_and_is_not_yet(
    placed: int, waiting: int, need: int, exempt: bool
):
    core = _gang("g", placed, waiting, need)
    queues = dict.fromkeys(uids("g", placed + waiting)[placed:], 0)
    assert _exempt(core, queues) == (set(queues) if exempt else set())


def test_a_gang_in_two_queues_or_partly_in_none_has_no_place():
    core = _gang("g", 0, 2, 2)
    assert _exempt(core, {"g-0": 0, "g-1": 1}) == {"g-0", "g-1"}
    assert _exempt(core, {"g-0": 0, "g-1": -1}) == {"g-0", "g-1"}
    assert _exempt(core, {"g-0": 3, "g-1": 3}) == set()


def test_members_that_back_off_or_are_refused_or_leave_do_not_complete_a_gang():
    for change in ("not_before", "refused", "leaving"):
        core = _gang("g", 1, 2, 3)
        tasks = core._cluster.tasks
        row = tasks.row_of["g-0" if change == "leaving" else "g-2"]
        getattr(tasks, change)[row] = NOW + 1
        assert _exempt(core, {"g-1": 0}) == {"g-1"}, change
    core = _gang("g", 1, 2, 3)
    core._cluster.tasks.not_before[core._cluster.tasks.row_of["g-2"]] = NOW
    assert _exempt(core, {"g-1": 0, "g-2": 0}) == set()


def test_single_tasks_are_never_exempt():
    core = scheduler(machine("m"), ClassDefined(1, task_class(10)), TasksSubmitted(1, ("a", "b")))
    assert _exempt(core, {"a": 0, "b": 1}) == set()
    assert _exempt(core, {}) == set()
    beside_a_gang = _gang("g", 0, 2, 2)
    beside_a_gang.apply([TasksSubmitted(1, ("a",))])
    assert _exempt(beside_a_gang, {"a": 0}) == set()


def test_a_tree_of_groups_is_whole_by_its_groups():
    groups = JobGroup("root", least=1), JobGroup("a", "root", 2), JobGroup("b", "root", 2)
    core = scheduler(
        machine("m"),
        JobDefined(Job("t", min_members=2, groups=groups)),
        ClassDefined(1, task_class(10, group="a")),
        ClassDefined(2, task_class(10, group="b")),
        TasksSubmitted(1, ("a-0",), "t"),
        TasksSubmitted(2, ("b-0",), "t"),
    )
    queues = {"a-0": 0, "b-0": 0}
    assert _exempt(core, queues) == set(queues), "two members, but no group is whole"
    core.apply([TasksSubmitted(1, ("a-1",), "t")])
    assert _exempt(core, queues | {"a-1": 0}) == set()


@given(
    gangs=st.lists(
        st.tuples(
            st.integers(1, 4),
            st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 4)), min_size=1, max_size=5),
        ),
        max_size=4,
    )
)
def test_any_gangs_are_judged_as_one_by_one(gangs: list[tuple[int, list[tuple[int, int]]]]):
    """Each member: its queue, and 0 or 1: it waits, 2: on a machine, 3: asked to leave it, 4: it backs off."""
    core = scheduler(machine("m"), ClassDefined(1, task_class(1)))
    queues, expected = dict[str, int](), set[str]()
    tasks = core._cluster.tasks
    for number, (need, members) in enumerate(gangs):
        job, names = f"g{number}", uids(f"g{number}", len(members))
        core.apply([JobDefined(Job(job, size=need, min_members=need))])
        waiting = dict[str, int]()
        stays = 0
        for uid, (queue, kind) in zip(names, members, strict=True):
            there = kind in (2, 3)
            core.apply([TasksBound("m", 1, (uid,), job=job) if there else TasksSubmitted(1, (uid,), job)])
            row = tasks.row_of[uid]
            assert tasks.state[row] == (TaskPhase.BOUND if there else TaskPhase.PENDING)
            tasks.leaving[row] = kind == 3
            tasks.not_before[row] = NOW + 1 if kind == 4 else 0
            stays += kind == 2
            if kind in (0, 1):
                waiting[uid] = queue
        whole = stays >= need
        stuck = stays + len(waiting) < need
        if need > 1 and set(waiting.values()) != {-1} and (whole or stuck or len(set(waiting.values())) > 1):
            expected |= set(waiting)
        queues |= waiting
    assert _exempt(core, queues) == expected
