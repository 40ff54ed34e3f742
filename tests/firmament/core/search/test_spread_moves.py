"""Many groups that would rather be apart: moves of single tasks, and what they rest on against slow counterparts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.board.room_while_moving import MovingRoom
from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.events import ClassDefined
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.ranks import SHORT, count_distinct, find_runs, group_rows, order_by, places_in, rank
from firmament.core.search.moves.spread import GroupCounts, even_shares
from firmament.core.search.moves.spread_classes import spread_tasks
from tests.firmament.core.placement.test_default_spread import core, in_zone, waiting
from tests.support.core import placed, task_class
from tests.support.tuning import PLACING

GROUPS, MACHINES = 3, 4
members = st.lists(st.tuples(st.integers(0, GROUPS - 1), st.integers(0, MACHINES - 1)), max_size=10)

keys = st.lists(st.one_of(st.integers(-3, 3), st.integers(-2 * SHORT, 2 * SHORT)), max_size=30)


@given(keys)
def test_orders_and_ranks(given_keys: list[int]):
    array = np.array(given_keys, dtype=np.int64)
    assert order_by(array).tolist() == sorted(range(len(given_keys)), key=lambda row: given_keys[row])
    assert rank(array).tolist() == [given_keys[:row].count(key) for row, key in enumerate(given_keys)]
    found, count = count_distinct(array)
    assert dict(zip(found.tolist(), count.tolist(), strict=True)) == {
        key: given_keys.count(key) for key in sorted(given_keys)
    }
    assert [rows.tolist() for rows in group_rows(array)] == [
        [row for row, each in enumerate(given_keys) if each == key] for key in sorted(set(given_keys))
    ]
    starts, lengths = find_runs(array)
    assert [
        given_keys[start] for start, length in zip(starts, lengths, strict=True) for _ in range(length)
    ] == given_keys


@given(st.permutations(range(9)), st.integers(0, 9))
def test_places_among_some(rows: list[int], number: int):
    some = rows[:number]
    found = places_in(np.array(some, dtype=np.int64), 9).tolist()
    assert found == [some.index(row) if row in some else -1 for row in range(9)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_single_tasks_are_counted(tasks: list[tuple[int, int]]):
    single = Assignments.from_single_tasks(tasks)
    counted = Assignments.count_pairs(single.cls, single.machine)
    assert list(counted.entries()) == [(*pair, tasks.count(pair)) for pair in sorted(set(tasks))]


@given(st.data())
def test_even_shares_cost_least(data: st.DataObject):
    domains = data.draw(st.integers(1, 4))
    present = np.array([data.draw(st.lists(st.integers(0, 5), min_size=domains, max_size=domains))])
    quarters = data.draw(st.lists(st.integers(-12, 24), min_size=domains, max_size=domains))
    height = np.array([quarters]) / 4
    (shares,) = even_shares(height, present).tolist()
    tasks = int(present.sum())

    def cost(counts: tuple[int, ...]) -> float:
        return sum(
            sum(low + nth for nth in range(count)) for low, count in zip(height[0], counts, strict=True)
        )

    possible = [counts for counts in product(range(tasks + 1), repeat=domains) if sum(counts) == tasks]
    assert cost(tuple(shares)) == min(map(cost, possible))


def apart(domain: list[int], residents: list[tuple[int, int]], group: list[int] | None = None) -> SpreadTerms:
    """Terms of all groups, of which some tasks run already."""
    pairs = np.array(residents, dtype=np.int64).reshape(-1, 2)
    return SpreadTerms(
        group=np.array(range(GROUPS) if group is None else group),
        domain=np.array(domain),
        machine_step=np.ones(GROUPS),
        domain_step=np.ones(GROUPS),
        resident_group=pairs[:, 0],
        resident_machine=pairs[:, 1],
    )


@given(members, members, st.lists(st.integers(0, 2), min_size=MACHINES, max_size=MACHINES), st.booleans())
def test_tasks_of_groups_are_counted_with_those_that_run(
    moving: list[tuple[int, int]], running: list[tuple[int, int]], domain: list[int], as_table: bool
):
    group, machine = (np.array([pair[part] for pair in moving], dtype=np.int64) for part in (0, 1))
    counts = GroupCounts(apart(domain, running), group, machine, 10**6 if as_table else 0)
    every = np.array([*product(range(GROUPS), range(MACHINES))])
    if moving or running:
        assert counts.count_at(every[:, 0], every[:, 1]).tolist() == [
            (moving + running).count((*pair,)) for pair in every.tolist()
        ]
    assert counts.there.tolist() == [(moving + running).count(pair) for pair in moving]
    assert counts.before.tolist() == [
        running.count(pair) + moving[:row].count(pair) for row, pair in enumerate(moving)
    ]
    assert counts.first_of_each(group, machine).tolist() == [
        pair not in moving[:row] for row, pair in enumerate(moving)
    ]
    for each, where in product(range(GROUPS), range(max(domain) + 1)):
        there = sum(one == each and domain[at] == where for one, at in moving + running)
        assert counts.in_domain[each, where] == there


def test_tasks_of_no_group_stay_where_they_are():
    """Two of one group are apart afterwards; four of none stay together, although another machine is empty."""
    problem = PlacementProblem(
        counts=np.zeros((2, WAIT_BUCKETS), dtype=np.int64),
        priority=np.zeros(2, dtype=np.int64),
        shape=np.arange(2),
        requests=np.ones((2, 1), dtype=np.int64),
        feasible=np.ones((2, MACHINES), dtype=np.bool_),
        cost=np.zeros((2, MACHINES), dtype=np.int32),
        crowd=np.zeros(MACHINES, dtype=np.int64),
        free=np.full((MACHINES, 1), 10, dtype=np.int64),
        spread=apart([0] * MACHINES, [], group=[GROUPS - 1, -1]),
    )
    before = Assignments.from_single_tasks([(0, 0), (0, 0), *[(1, 1)] * 4])
    after = [*spread_tasks(problem, before, PLACING.spread, []).entries()]
    assert [each for each in after if each[0] == 1] == [(1, 1, 1)] * 4
    assert [count for cls, _, count in after if cls == 0] == [1, 1]


def test_a_domain_without_room_gets_nobody():
    """Where all that is left of a zone is full, those who are crowded there look at no place in it."""
    groups = PLACING.spread.most_classes + 12
    scheduler = core(
        *(in_zone(f"a{index}", "a", cpu=100 * groups, pods=200) for index in range(4)),
        in_zone("z", "z", cpu=900_000, pods=groups),
    )
    for number in range(1, groups + 1):
        scheduler.apply(
            [ClassDefined(number, task_class(100 + number)), waiting(2, f"g{number}", number, f"c{number}")]
        )
    where = placed(scheduler.run_round())
    assert len(where) == 2 * groups


@given(st.data())
def test_arrivals_find_the_room_that_earlier_ones_leave(data: st.DataObject):
    machines, shapes = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))

    def amounts(rows: int, low: int, high: int) -> np.ndarray:
        one = st.lists(st.integers(low, high), min_size=2, max_size=2)
        return np.array(data.draw(st.lists(one, min_size=rows, max_size=rows)), dtype=np.int64)

    requests, free = amounts(shapes, 0, 3), amounts(machines, -1, 8)
    problem = PlacementProblem(
        counts=np.zeros((shapes, WAIT_BUCKETS), dtype=np.int64),
        priority=np.zeros(shapes, dtype=np.int64),
        shape=np.arange(shapes),
        requests=requests,
        feasible=np.ones((shapes, machines), dtype=np.bool_),
        cost=np.zeros((shapes, machines), dtype=np.int32),
        crowd=np.zeros(machines, dtype=np.int64),
        free=free,
    )
    room = MovingRoom(problem, Assignments.empty())
    arrival = st.tuples(st.integers(0, shapes - 1), st.integers(0, machines - 1))
    arrivals = np.array(data.draw(st.lists(arrival, max_size=12)), dtype=np.int64).reshape(-1, 2)
    lacking, used = [], np.zeros_like(free)
    for shape, machine in arrivals.tolist():
        used[machine] += requests[shape]
        lacking.append(bool(((used[machine] > free[machine]) & (requests[shape] > 0)).any()))
    assert room.find_overfilled(*arrivals.T).tolist() == lacking
    fits = ((requests[:, None] <= free) | (requests[:, None] == 0)).all(axis=2)
    every = np.arange(shapes)
    for machine in range(machines):
        if room.open_to_all(every)[machine]:
            assert all(row[machine] for row in fits)
        if any(row[machine] for row in fits) and not requests[:, free[machine] < 0].any():
            assert room.open_to_some(every)[machine]


@pytest.mark.parametrize(("more", "stays"), [(0.0005, True), (0.0015, False)])
def test_a_task_stays_for_a_thousandth_of_a_step_and_no_more(more: float, stays: bool):
    shares = even_shares(np.array([[more, 0.0]]), np.array([[1, 0]]))
    assert shares.tolist() == [[1, 0] if stays else [0, 1]]
