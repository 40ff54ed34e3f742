"""Room that is kept for a gang: few machines, those that lack least for it and are free soonest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.gang_room import RoomSearch, find_gang_room
from firmament.core.placement.outcome import Means
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem


def gangs(
    tasks: Sequence[int], size: int, free: Sequence[int], need: Sequence[int], **more: object
) -> PlacementProblem:
    """Gangs of a class each, all tasks of which take ``size``; what is free now."""
    base = problem(tasks=tasks, requests=[[size]] * len(tasks), free=[[each] for each in free], **more)  # type: ignore[arg-type]  # by name
    return replace(base, gang=np.arange(len(tasks)), gang_need=np.array(need, dtype=np.int64))


def kept(
    made: PlacementProblem, in_the_end: Sequence[int], run: Sequence[float] | None = None, gang: int = 0
) -> dict[int, int] | None:
    """Tasks by machine in the room that is found; None if there is none."""
    durations = np.array([1.0] * len(in_the_end) if run is None else run)
    search = RoomSearch((gang,), np.array(in_the_end, dtype=np.int64).reshape(-1, 1), durations)
    found = find_gang_room(made, gang, search, Means(OrToolsSolver()))
    if found is None:
        return None
    assert set(made.gang[found.cls].tolist()) == {gang}
    sums: Counter[int] = Counter()
    for machine, count in zip(found.machine.tolist(), found.count.tolist(), strict=True):
        sums[machine] += count
    return dict(sums)


def test_there_is_none_where_there_is_too_little_even_in_the_end():
    assert kept(gangs([4], 2, [0, 0], [4]), [4, 2]) is None
    assert kept(gangs([4], 2, [0, 0], [4]), [1, 1]) is None
    assert kept(gangs([4], 2, [0, 0], [3]), [4, 2]) == {0: 2, 1: 1}


def test_one_machine_that_will_hold_all_is_enough():
    assert kept(gangs([4], 2, [0, 0, 0], [4]), [2, 8, 2]) == {1: 4}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8])
def test_no_more_machines_are_kept_than_hold_the_gang(size: int):
    found = kept(gangs([2 * size], 1, [0] * 8, [2 * size]), [2] * 8)
    assert found is not None
    assert len(found) == size
    assert sum(found.values()) == 2 * size


def test_machines_that_lack_least_come_first():
    assert kept(gangs([2], 2, [1, 3, 0], [2]), [4, 4, 4]) == {1: 2}


def test_where_less_has_run_for_long_it_ends_sooner():
    assert kept(gangs([2], 2, [0, 0, 0], [2]), [4, 4, 4], run=[9.0, 2.0, 5.0]) == {1: 2}


def test_of_two_that_lack_nothing_the_larger_drains_fewer():
    assert kept(gangs([4], 1, [2, 4, 2], [4]), [2, 4, 2]) == {1: 4}


def test_what_lacks_less_for_each_task_comes_before_what_lacks_less_in_all():
    # One task lacks all of machine 0, four lack half of machine 1.
    assert kept(gangs([4], 2, [0, 4], [1]), [2, 8]) == {1: 4}


def test_machines_that_refuse_it_are_not_kept():
    made = gangs([2], 2, [0, 0], [2], feasible=[[False, True]])
    assert kept(made, [4, 4]) == {1: 2}
    assert kept(made, [4, 2]) is None


def test_other_gangs_and_tasks_leave_the_room_to_it():
    made = gangs([2, 2, 1], 2, [0, 0], [2, 2, 0], priority=[0, 9, 9])
    made = replace(made, gang=np.array([0, 1, -1]))
    assert kept(made, [4, 0]) == {0: 2}
    assert kept(made, [4, 0], gang=1) == {0: 2}


def test_a_resource_that_runs_short_decides_and_others_do_not():
    base = problem(tasks=[2], requests=[[1, 3, 0]], free=[[0, 0, 0]] * 3)
    made = replace(base, gang=np.array([0]), gang_need=np.array([2]))
    ends = np.array([[9, 3, 0], [2, 6, 0], [1, 9, 0]], dtype=np.int64)
    found = find_gang_room(made, 0, RoomSearch((0,), ends, np.ones(3)), Means(OrToolsSolver()))
    assert found is not None
    assert dict(zip(found.machine.tolist(), found.count.tolist(), strict=True)) == {1: 2}


def test_tasks_that_take_nothing_have_no_machine_kept_for_them():
    assert kept(gangs([2], 0, [0], [2]), [5]) is None


def test_a_gang_of_which_nobody_waits_has_no_room_kept():
    assert kept(gangs([0], 1, [0], [2]), [5]) is None


def test_members_of_several_classes_are_sought_room_together():
    base = problem(tasks=[1, 1], requests=[[2], [3]], free=[[0], [0], [0]])
    made = replace(base, gang=np.array([0, 0]), gang_need=np.array([2]))
    assert kept(made, [3, 5, 2]) == {1: 2}
    assert kept(made, [3, 2, 1]) == {0: 1, 1: 1}


class TestMachinesKeptForOthers:
    """Machine 1 would do for the gang, but is kept for another one."""

    def kept(
        self, in_the_end: list[int], others: list[bool] | None, feasible: list[bool]
    ) -> dict[int, int] | None:
        made = gangs([4], 2, [0, 0, 0], [4], feasible=[feasible])
        search = RoomSearch(
            (0,),
            np.array(in_the_end, dtype=np.int64).reshape(-1, 1),
            np.ones(3),
            None if others is None else np.array([others]),
        )
        found = find_gang_room(made, 0, search, Means(OrToolsSolver()))
        if found is None:
            return None
        sums: Counter[int] = Counter()
        for machine, count in zip(found.machine.tolist(), found.count.tolist(), strict=True):
            sums[machine] += count
        return dict(sums)

    def test_they_are_used_only_if_the_others_do_not_suffice(self):
        closed, one = [True, False, True], [False, True, False]
        assert self.kept([8, 8, 0], one, closed) == {0: 4}
        assert self.kept([4, 8, 4], one, closed) == {0: 2, 2: 2}
        assert self.kept([0, 8, 2], one, closed) == {1: 4}
        assert self.kept([2, 4, 2], one, closed) == {0: 1, 1: 2, 2: 1}
        assert self.kept([2, 2, 2], one, closed) is None

    def test_machines_that_refuse_the_gang_stay_closed(self):
        assert self.kept([0, 8, 8], [False, True, False], [True, False, False]) == {1: 4}
        assert self.kept([0, 0, 8], [False, True, False], [True, False, False]) is None
        assert self.kept([0, 8, 8], None, [True, False, False]) is None
