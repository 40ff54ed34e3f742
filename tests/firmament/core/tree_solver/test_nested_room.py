"""What machines have left while places for a tree are searched, and how tasks are packed there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.pattern_search import Effort
from firmament.core.tree_solver.nested.room import ENDLESS, MANY, NestedRoom, PlaceCost
from firmament.core.tree_solver.nested.task_packing import Booked, TaskPacking
from tests.support.effort import examples


def ints(*numbers: int) -> Int64:
    return np.array(numbers, dtype=np.int64)


def price(own: Int64) -> PlaceCost:
    """What a task costs on each machine."""

    def cost(machines: Int64) -> Int64:
        return own[machines]

    return cost


def room(
    free: Sequence[Sequence[int]],
    requests: Sequence[Sequence[int]],
    most: Sequence[Sequence[int]] | None = None,
    cost: Sequence[Sequence[int]] | None = None,
    resources: Sequence[str] = (),
) -> NestedRoom:
    """``free`` by resource and machine, ``requests`` by shape and resource, the others by shape and machine."""
    machines = len(free[0])
    costs = np.array(cost or [[0] * machines] * len(requests), dtype=np.int64)
    return NestedRoom(
        np.array(free, dtype=np.int64),
        np.array(requests, dtype=np.int64),
        np.array(most or [[99] * machines] * len(requests), dtype=np.int64),
        [price(each) for each in costs],
        resources,
    )


class TestRoom:
    def test_slots_are_what_a_machine_takes_of_one_shape_alone(self):
        made = room([[5, 2, -3], [9, 9, 9]], [[2, 0], [1, 4], [0, 0]], most=[[9, 9, 9], [9, 0, 9], [3, 2, 1]])
        assert made.slots.tolist() == [[2, 1, 0], [2, 0, 0], [3, 2, 1]]
        assert made.everything.tolist() == [0, 1, 2]

    def test_resources_that_nobody_requests_are_left_out(self):
        made = room([[5], [1], [7]], [[2, 0, 1]], resources=("cpu", "gpu", "memory"))
        assert made.resources == ("cpu", "memory")
        assert made.free.tolist() == [[5], [7]]
        assert made.requests.tolist() == [[2, 1]]
        assert room([[5]], [[2]]).resources == ()
        assert made.is_as_free_as(np.array([[5], [0], [7]]))
        assert not made.is_as_free_as(np.array([[5], [1], [6]]))

    def test_the_size_of_a_shape_is_its_largest_share_of_what_is_free(self):
        made = room([[5, 5, -9], [2, 2, 0]], [[2, 0], [1, 1], [0, 0]])
        assert made.size.tolist() == [0.2, 0.25, 0.0]
        assert room([[0]], [[3]]).size.tolist() == [3.0], "of nothing, each is as large as it is"

    def test_bookings_can_be_undone_up_to_a_mark(self):
        made = room([[6, 6]], [[1], [2]], most=[[5, 5], [9, 9]])
        begin = made.mark()
        made.take(0, ints(0, 1), ints(3, 1))
        assert made.slots.tolist() == [[2, 4], [1, 2]], "three of at most five are there"
        middle = made.mark()
        made.take(1, ints(0), ints(1))
        made.take(0, ints(0), ints(1))
        assert made.free.tolist() == [[0, 5]]
        assert made.slots.tolist() == [[0, 4], [0, 2]]
        made.undo(middle)
        assert made.slots.tolist() == [[2, 4], [1, 2]]
        made.undo(begin)
        assert made.slots.tolist() == [[5, 5], [3, 3]]
        assert made.free.tolist() == [[6, 6]]
        made.undo(begin)
        assert made.mark() == 0

    def test_a_cap_holds_for_all_shapes_of_some_machines(self):
        made = room([[6, 6, 6]], [[1], [2]])
        made.cap(ints(0, 2), ints(4, 0, 1))
        assert made.slots.tolist() == [[4, 6, 1], [3, 3, 1]]
        made.cap(ints(0), ints(5, 0, 0))
        assert made.slots.tolist() == [[4, 6, 1], [3, 3, 1]], "a cap is never raised"

    @pytest.mark.parametrize("plenty", [[0], [1], [0, 1]])
    def test_plenty_of_a_resource_leaves_the_others_as_they_are(self, plenty: list[int]):
        made = room([[1, 2], [3, 0]], [[1, 1], [1, 2]], most=[[7, 7], [7, 7]])
        copied = made.with_plenty(plenty, 4)
        assert copied.free.tolist() == [
            [4, 4] if 0 in plenty else [1, 2],
            [8, 8] if 1 in plenty else [3, 0],
        ]
        assert made.free.tolist() == [[1, 2], [3, 0]]
        assert copied.slots.max() <= 7

    def test_plenty_on_all_machines_can_still_be_summed_up(self):
        made = room([[1, 1]], [[2**40]]).with_plenty([0], 2**22)
        assert made.free.tolist() == [[ENDLESS // 2, ENDLESS // 2]]

    def test_waste_is_what_is_left_in_tasks_once_a_machine_is_full_of_them(self):
        made = room([[5, 6, 9], [9, 3, 1]], [[2, 0], [2, 3], [0, 0]])
        assert made.find_waste(0, ints(0, 1, 2)).tolist() == [0.5, 0.0, 0.5]
        assert made.find_waste(1, ints(1, 0)).tolist() == [2.0, 0.5 + 1.0], "resources are added up"
        assert made.find_waste(2, ints(0, 1)).tolist() == [0.0, 0.0]

    def test_shapes_that_request_nothing_are_limited_by_other_limits_alone(self):
        assert room([[1]], [[0]], most=[[2 * MANY]]).slots.tolist() == [[MANY]]


# --- packing ---------------------------------------------------------------------------------------------------------


def check(made: NestedRoom, before: Int64, booked: Booked, shape_of: list[int], counts: list[int]) -> None:
    """Booked are all tasks of each part, on machines that hold them, and nothing else."""
    got = [0] * len(counts)
    used = np.zeros_like(before)
    for part, machines, tasks in booked:
        assert (tasks > 0).all()
        assert len(set(machines.tolist())) == len(machines)
        got[part] += int(tasks.sum())
        np.add.at(used.T, machines, made.requests[shape_of[part]] * tasks[:, None])
    assert got == counts
    assert (before - used).tolist() == made.free.tolist()
    assert (made.free >= 0).all()


def can_be_packed(free: Int64, requests: Int64, counts: list[int]) -> bool:
    """Whether all tasks fit on the machines, tried one way after another."""
    tasks = [shape for shape, count in enumerate(counts) for _ in range(count)]
    machines = range(free.shape[1])
    for where in product(machines, repeat=len(tasks)):
        left = free.copy()
        for shape, machine in zip(tasks, where, strict=True):
            left[:, machine] -= requests[shape]
        if (left >= 0).all():
            return True
    return False


def test_tasks_are_packed_whenever_they_fit():
    found = 0
    for seed in range(examples(120, least=40)):
        draw = random.Random(seed)
        machines, shapes, kinds = draw.randint(1, 3), draw.randint(1, 3), draw.randint(1, 2)
        free = [[draw.randint(0, 6) for _ in range(machines)] for _ in range(kinds)]
        requests = [[draw.randint(0 if kind else 1, 4) for kind in range(kinds)] for _ in range(shapes)]
        counts = [draw.randint(0, 2) for _ in range(shapes)]
        made = room(free, requests)
        before = made.free.copy()
        packing = TaskPacking(made, list(range(shapes)), counts, Effort(10_000))
        booked, certain = packing.pack(list(range(shapes)), np.arange(machines))
        fits = can_be_packed(made.free if booked is None else before, made.requests, counts)
        assert (booked is not None) == fits, seed
        assert certain, seed
        found += fits
        if booked is None:
            assert made.free.tolist() == before.tolist(), "nothing stays booked"
            assert made.mark() == 0
        else:
            check(made, before, booked, list(range(shapes)), counts)
    assert found > 10


def test_parts_of_one_shape_share_its_places():
    made = room([[3, 2, 4]], [[1]])
    booked, certain = TaskPacking(made, [0, 0, 0], [4, 0, 3], Effort(100)).pack([0, 1, 2], np.arange(3))
    assert certain
    assert booked is not None
    check(made, np.array([[3, 2, 4]]), booked, [0, 0, 0], [4, 0, 3])
    assert [part for part, _, _ in booked] == [0, 2]


def test_other_machines_and_parts_are_left_alone():
    made = room([[9, 9, 9]], [[1], [2]])
    booked, _ = TaskPacking(made, [0, 1], [2, 5], Effort(100)).pack([0], ints(1))
    assert booked is not None
    assert [(part, machines.tolist(), tasks.tolist()) for part, machines, tasks in booked] == [(0, [1], [2])]
    assert made.free.tolist() == [[9, 7, 9]]


@pytest.mark.parametrize(
    ("free", "cost", "count", "expected"),
    [
        ([5, 2, 3], [0, 0, 0], 4, {1: 2, 2: 2}),  # the fullest machines first
        ([3, 3, 3], [5, 1, 2], 4, {1: 3, 2: 1}),  # of equally full ones the cheapest
        ([3, 0, 3], [1, 0, 1], 3, {0: 3}),
        ([3, 3], [0, 0], 6, {0: 3, 1: 3}),
    ],
)
def test_tasks_of_one_shape_go_to_the_fullest_and_then_the_cheapest_machines(
    free: list[int], cost: list[int], count: int, expected: dict[int, int]
):
    made = room([free], [[1]], cost=[cost])
    booked, _ = TaskPacking(made, [0], [count], Effort(100)).pack([0], np.arange(len(free)))
    assert booked is not None
    ((_, machines, tasks),) = booked
    assert dict(zip(machines.tolist(), tasks.tolist(), strict=True)) == expected


def test_too_few_places_for_a_shape_are_certain_without_a_search():
    made, effort = room([[3, 3]], [[2], [1]]), Effort(50)
    assert TaskPacking(made, [0, 1], [3, 1], effort).pack([0, 1], np.arange(2)) == (None, True)
    assert effort.left == 48, "each part is a step of work"


def test_without_effort_left_nothing_is_certain():
    """The two large tasks leave no machine with room for the middle one; a greedy order cannot find that out."""
    made = room([[4, 4], [4, 4]], [[3, 1], [1, 3], [2, 2]])
    booked, certain = TaskPacking(made, [0, 1, 2], [1, 1, 1], Effort(3)).pack([0, 1, 2], np.arange(2))
    assert booked is not None or not certain
