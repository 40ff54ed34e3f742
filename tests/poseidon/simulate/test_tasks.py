"""The tasks of a simulation from their arrival to their end."""

from __future__ import annotations

import numpy as np
import pytest

from poseidon.simulate.tasks import NEVER, NOWHERE, TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate

TO_COME, WAITING, RUNNING, ENDED = TaskProgress


def made(*durations: float, gangs: tuple[int, ...] = (), arrivals: tuple[float, ...] = ()) -> TaskColumns:
    count = len(durations)
    return TaskColumns(
        Work(
            [WorkTemplate("k", {})],
            np.array(arrivals or (0.0,) * count),
            np.array(durations),
            np.zeros(count, dtype=np.int64),
            np.array(gangs or (ALONE,) * count, dtype=np.int64),
        )
    )


def running(*durations: float, gangs: tuple[int, ...] = ()) -> TaskColumns:
    tasks = made(*durations, gangs=gangs)
    for task in range(len(durations)):
        tasks.arrive(np.array([task]))
        tasks.place(task, task, 0.0)
    return tasks


def test_a_task_comes_runs_and_ends():
    tasks = made(5.0, 7.0)
    assert tasks.state.tolist() == [TO_COME, TO_COME]
    assert tasks.next_end() is None
    tasks.arrive(np.array([1]))
    assert tasks.find(WAITING).tolist() == [1]
    tasks.place(1, 3, 2.0)
    assert (tasks.state[1], tasks.machine[1], tasks.begun[1], tasks.first_begun[1]) == (RUNNING, 3, 2.0, 2.0)
    assert (tasks.find_on(3), tasks.find_on(NOWHERE)) == ([1], [])
    assert tasks.next_end() == 9.0
    assert tasks.take_ended(8.9) == []
    assert tasks.take_ended(9.0) == [1]
    assert (tasks.state[1], tasks.machine[1], tasks.next_end()) == (ENDED, NOWHERE, None)


def test_tasks_end_in_the_order_of_their_ends():
    tasks = running(7.0, 5.0, 9.0)
    assert tasks.take_ended(8.0) == [1, 0]
    assert tasks.next_end() == 9.0


@pytest.mark.parametrize(("keeps", "ends"), [(True, 12.0), (False, 15.0)])
def test_who_is_interrupted_waits_with_all_or_the_rest_of_its_work(keeps, ends):
    tasks = running(5.0)
    tasks.interrupt(0, 3.0, keeps_work=keeps)
    assert (tasks.state[0], tasks.machine[0], tasks.begun[0]) == (WAITING, NOWHERE, NEVER)
    assert (tasks.first_begun[0], tasks.evictions[0], tasks.next_end()) == (0.0, 1, None)
    tasks.place(0, 1, 10.0)
    assert tasks.first_begun[0] == 0.0
    assert tasks.next_end() == ends
    assert tasks.take_ended(5.0) == [], "its first run is over"


def test_some_work_is_always_left():
    tasks = running(5.0)
    tasks.interrupt(0, 6.0, keeps_work=True)
    assert tasks.left[0] == 0.001
    later = made(5.0)
    later.place(0, 0, 10.0)
    later.interrupt(0, 8.0, keeps_work=True)
    assert (later.left[0], later.first_begun[0]) == (5.0, NEVER), "it had not begun"


def test_begins_may_move():
    tasks = running(5.0, 5.0)
    tasks.interrupt(1, 1.0, keeps_work=False)
    tasks.place(1, 1, 2.0)
    tasks.begin_at(np.array([0, 1]), np.array([3.0, 4.0]))
    assert tasks.begun.tolist() == [3.0, 4.0]
    assert tasks.first_begun.tolist() == [3.0, 0.0]
    assert tasks.take_ended(7.9) == []
    assert tasks.take_ended(9.0) == [0, 1]


def test_tasks_of_other_schedulers_have_not_waited():
    tasks = made(5.0, arrivals=(1.0,))
    tasks.stand(0, 2, 4.0)
    assert (tasks.begun[0], tasks.first_begun[0], tasks.next_end()) == (4.0, 1.0, 9.0)


def test_run_times_may_become_known():
    tasks = running(5.0, 6.0)
    tasks.set_left(np.array([0]), np.array([20.0]))
    assert tasks.next_end() == 6.0
    assert tasks.take_ended(100.0) == [1, 0]


def test_who_is_withdrawn_has_ended():
    tasks = running(5.0, 6.0, 7.0)
    tasks.interrupt(1, 1.0, keeps_work=False)
    assert tasks.take_ended(5.0) == [0]
    assert [tasks.withdraw(task) for task in (0, 1, 2, 2)] == [False, True, True, False]
    assert tasks.state.tolist() == [ENDED] * 3
    assert tasks.machine.tolist() == [NOWHERE] * 3
    assert not made(1.0).withdraw(0)


def test_the_tasks_of_gangs_are_counted():
    tasks = running(5.0, 6.0, 7.0, 8.0, gangs=(0, 1, 0, ALONE))
    assert [tasks.count_left_of(gang) for gang in (0, 1)] == [2, 1]
    tasks.take_ended(6.0)
    assert [tasks.count_left_of(gang) for gang in (0, 1)] == [1, 0]


def test_others_may_come_instead():
    tasks = made(5.0, 6.0, 7.0, gangs=(0, 0, ALONE), arrivals=(1.0, 2.0, 3.0))
    tasks.arrive(np.array([0]))
    tasks.place(0, 4, 1.0)
    tasks.let_come_instead(1, made(8.0, 9.0, 1.0, gangs=(0, ALONE, 0), arrivals=(5.0, 6.0, 7.0)).work)
    assert tasks.work.arrival.tolist() == [1.0, 5.0, 6.0, 7.0]
    assert tasks.work.gang.tolist() == [0, 1, ALONE, 1]
    assert tasks.left.tolist() == [5.0, 8.0, 9.0, 1.0]
    assert tasks.state.tolist() == [RUNNING, TO_COME, TO_COME, TO_COME]
    assert tasks.machine.tolist() == [4, NOWHERE, NOWHERE, NOWHERE]
    assert tasks.first_begun.tolist() == [1.0, NEVER, NEVER, NEVER]
    assert tasks.evictions.tolist() == [0] * 4
    assert tasks.count_left_of(1) == 2
