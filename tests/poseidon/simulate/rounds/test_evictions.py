"""Evictions take effect when they are written, and placements wait for their victims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.simulate.rounds.evictions import EvictionsUnderWay, Promise
from poseidon.simulate.tasks import TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Work
from tests.poseidon.simulate.scenarios import begin, kind, pool, scenario


def make_tasks(count: int, duration: float = 100.0) -> TaskColumns:
    """Return tasks that run since the beginning."""
    numbers = np.zeros(count, dtype=np.int64)
    tasks = TaskColumns(
        Work((), np.zeros(count), np.full(count, duration), numbers, np.full(count, ALONE, dtype=np.int64))
    )
    for task in range(count):
        tasks.place(task, 0, 0.0)
    return tasks


@given(st.lists(st.floats(0, 50), min_size=1, max_size=20), st.floats(0, 50))
def test_victims_go_in_the_order_in_which_it_is_written(written: list[float], now: float) -> None:
    evictions = EvictionsUnderWay(make_tasks(len(written)))
    for task, when in enumerate(written):
        evictions.add(task, when)
    assert evictions.find_next_written() == min(written)
    found = evictions.take_written(now)
    assert sorted(found) == [task for task, when in enumerate(written) if when <= now]
    assert [written[task] for task in found] == sorted(written[task] for task in found)
    assert evictions.take_written(now) == [], "once"


def test_who_ends_before_is_not_evicted() -> None:
    tasks = make_tasks(2, duration=5.0)
    evictions = EvictionsUnderWay(tasks)
    evictions.add(0, 7.0)
    evictions.let_leave(tasks.take_ended(6.0))
    assert evictions.find_next_written() is None
    assert evictions.take_written(8.0) == []


def test_an_eviction_does_not_cut_off_a_later_run() -> None:
    tasks = make_tasks(1)
    evictions = EvictionsUnderWay(tasks)
    evictions.add(0, 7.0)
    tasks.interrupt(0, 3.0, keeps_work=False)  # such as by a failing node
    evictions.let_leave([0])
    tasks.place(0, 1, 4.0)
    assert evictions.take_written(7.0) == []
    assert 0 not in evictions
    evictions.add(0, 9.0)
    assert evictions.take_written(8.0) == []
    assert evictions.take_written(9.0) == [0]


def test_a_placement_waits_until_all_its_victims_have_left() -> None:
    evictions = EvictionsUnderWay(make_tasks(4))
    for victim in (0, 1):
        evictions.add(victim, 5.0)
    assert not evictions.promise(2, "n1", [3]), "nobody evicts task 3"
    assert evictions.promise(2, "n1", [0, 1, 3])
    evictions.let_leave([0, 3])
    assert evictions.waits(2)
    assert evictions.take_ready() == []
    evictions.let_leave([1])
    assert evictions.take_ready() == [Promise(2, "n1", set())]
    assert not evictions.waits(2)


def test_a_placement_is_forgotten_with_its_victim_or_its_machine_or_for_another() -> None:
    evictions = EvictionsUnderWay(make_tasks(9))
    evictions.add(0, 5.0)
    evictions.add(1, 5.0)
    for task, machine, victim in ((2, "n1", 0), (3, "n2", 0), (4, "n2", 1), (5, "n3", 1)):
        evictions.promise(task, machine, [victim])
    evictions.break_promises(victim=0)
    evictions.break_promises(machine="n2")
    assert [evictions.waits(task) for task in (2, 3, 4, 5)] == [False, False, False, True]
    assert not evictions.promise(5, "n4", []), "it goes elsewhere at once"
    assert not evictions.waits(5)


def test_no_node_is_ever_too_full_while_evictions_are_written_slowly(tmp_path: Path) -> None:
    low = kind("low", cpu=4, mean="2m")
    high = kind("high", cpu=8, mean="1m", priority=10, share=0.5)
    document = scenario(
        low, high, load=2.0, horizon="30m", cluster={"pools": [pool(count=3)]}, roundEvery=1,
        requests={"perSecond": 0.2, "burst": 1, "perPod": 0},
    )  # fmt: skip
    simulation = begin(tmp_path, document)
    tasks, most, waited = simulation.tasks, [0.0], [0]

    def look(_: float) -> None:
        running = tasks.find(TaskProgress.RUNNING)
        cpu = np.where(tasks.work.template[running] == 1, 8, 4)
        most.append(np.bincount(tasks.machine[running], cpu, minlength=3).max())
        waited.append(simulation.evictions.find_next_written() is not None)

    simulation.run(note=look)
    assert max(most) == 8.0
    assert sum(waited) > 10, "victims run on for a while"
    assert simulation.record.preempted > 10
    of_high = (tasks.work.template == 1) & (tasks.first_begun >= 0.0)
    waits = (tasks.first_begun - tasks.work.arrival)[of_high]
    assert waits.max() > 5.0, "who comes in their place waits that long"


def test_evictions_take_effect_at_once_without_a_limit(tmp_path: Path) -> None:
    low, high = kind("low", cpu=8, mean="10h"), kind("high", cpu=8, mean="10m", priority=10, share=0.2)
    simulation = begin(tmp_path, scenario(low, high, load=3.0, horizon="1h", roundEvery=1))
    simulation.run(
        note=lambda _: pytest.fail("pending") if simulation.evictions.find_next_written() else None
    )
    assert simulation.record.preempted
