"""Tasks that change places: everything that held before holds after, and nothing costs more."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.cost import compute_placed_cost, placement_cost
from firmament.core.placement.passes import place_greedily
from firmament.core.search.moves.exchange import exchange_sizes
from tests.support.effort import examples
from tests.support.heights import with_heights
from tests.support.histories.problems import SEEDS, as_dict, placement_problem
from tests.support.tuning import PLACING

Placed = dict[tuple[int, int], int]


def scene(seed: int, classes: int, machines: int) -> tuple[PlacementProblem, Assignments]:
    """A problem whose first model states heights, and a placement that keeps all limits."""
    rnd = random.Random(seed)
    plain = placement_problem(seed, classes, machines, joint=rnd.random() < 0.5)
    shapes = len(plain.requests)
    sizes = [rnd.choice([0, 1, 2.5, 4, 9]) for _ in range(shapes)]
    start = [rnd.choice([0, 3, 7.25, 40]) for _ in range(machines)]
    rates = [rnd.choice([0, 0.5, 1, 2]) for _ in range(machines)] if rnd.random() < 0.5 else None
    problem = with_heights(plain, start, sizes, rates)
    # Placed by other costs than those that count, so that there is something to exchange.
    shuffled = [[rnd.randint(0, 30) for _ in range(machines)] for _ in range(shapes)]
    other = replace(problem, cost=np.array(shuffled, dtype=np.int32))
    return problem, place_greedily(Residual(other))


def faults(problem: PlacementProblem, placed: Placed) -> list[str]:
    """Every limit that a placement breaks, one loop per limit."""
    found = []
    for cls, machine in placed:
        if not problem.feasible[problem.shape[cls]][machine]:
            found.append(f"class {cls} on machine {machine}")
        if cls in problem.pins and machine not in problem.pins[cls].tolist():
            found.append(f"pin of class {cls}")
    for machine in range(problem.machines):
        for column in range(problem.requests.shape[1]):
            used = [
                int(problem.requests[problem.shape[cls]][column]) * count
                for (cls, where), count in placed.items()
                if where == machine
            ]
            # What others have overcommitted takes nothing more.
            if any(used) and sum(used) > problem.free[machine][column]:
                found.append(f"resource {column} of machine {machine}")
    for rows in problem.joint:
        for row, limit in enumerate(rows.limit.tolist()):
            used = [
                int(rows.amount[problem.shape[cls]]) * count
                for (cls, machine), count in placed.items()
                if rows.row_of[machine] == row
            ]
            if sum(used) > limit:
                found.append("a joint row")
    return found


def per(placed: Placed, position: int) -> dict[int, int]:
    """Tasks by class (0) or by machine (1)."""
    counts: dict[int, int] = {}
    for pair, count in placed.items():
        counts[pair[position]] = counts.get(pair[position], 0) + count
    return counts


def cost_by_hand(problem: PlacementProblem, placed: Placed) -> float:
    """What tasks cost one by one: what is not the model's, and the model's figure at which each part comes to lie."""
    heights = problem.heights
    assert heights is not None
    total = 0.0
    step = problem.crowd_step()
    for machine in range(problem.machines):
        growth = heights.growth[machine]
        height, nth = float(heights.start[machine]), 0
        for (cls, where), count in sorted(placed.items()):
            shape = problem.shape[cls]
            raw = max(0.0, float(heights.charges[0].raw[shape][machine]))
            size = float(heights.amount[shape][0] * heights.rate[0][machine])
            for _ in range(count if where == machine else 0):
                total += float(problem.cost[shape][machine])
                total += float(problem.crowd[machine]) * (nth // step * step)
                if growth > 0:
                    total -= raw + growth * nth
                    # The mean height over the task, as often as it holds a task of mean size; and half of itself.
                    total += (height + size / 2) * size / growth + size / 2
                height += size
                nth += 1
    return total


def other_by_hand(problem, placed):
    """What tasks cost besides their part of the heights."""
    raw = problem.heights.charges[0].raw
    shapes = {cls: problem.shape[cls] for cls, _ in placed}
    return sum(
        count * (float(problem.cost[shapes[cls]][machine]) - max(0.0, float(raw[shapes[cls]][machine])))
        for (cls, machine), count in placed.items()
    )


@settings(max_examples=examples(200))
@given(seed=SEEDS, classes=st.integers(1, 6), machines=st.integers(1, 6))
def test_the_cost_of_sizes_is_that_of_tasks_placed_one_after_another(seed, classes, machines):
    problem, placed = scene(seed, classes, machines)
    assert abs(compute_placed_cost(problem, placed) - cost_by_hand(problem, as_dict(placed))) <= 0.501


@settings(max_examples=examples(300))
@given(seed=SEEDS, classes=st.integers(1, 6), machines=st.integers(1, 8))
def test_what_held_before_holds_after_and_nothing_costs_more(seed, classes, machines):
    problem, placed = scene(seed, classes, machines)
    before = as_dict(placed)
    assert not faults(problem, before)
    after = exchange_sizes(problem, placed, tuning=PLACING.exchange, log=[])
    assert not faults(problem, as_dict(after))
    assert per(as_dict(after), 0) == per(before, 0)
    assert per(as_dict(after), 1) == per(before, 1)
    assert placement_cost(problem, after) <= placement_cost(problem, placed)
    again = exchange_sizes(problem, placed, tuning=PLACING.exchange, log=[])
    assert (again.cls.tolist(), again.machine.tolist()) == (after.cls.tolist(), after.machine.tolist())


@settings(max_examples=examples(100))
@given(seed=SEEDS)
def test_two_tasks_on_two_machines_are_exchanged_if_that_pays(seed):
    """With two tasks there is one exchange to try, and the oracle can try it."""
    rnd = random.Random(seed)
    plain = placement_problem(seed, 2, 2, joint=rnd.random() < 0.5)
    counts = np.zeros_like(plain.counts)
    counts[:, 0] = 1
    plain = replace(plain, counts=counts, pins={}, free=np.maximum(plain.free, 1))
    start = [rnd.choice([0, 3, 7, 40]) for _ in range(2)]
    sizes = [rnd.choice([1, 2, 4, 9]) for _ in plain.requests]
    problem = with_heights(plain, start, sizes)
    before, swapped = {(0, 0): 1, (1, 1): 1}, {(0, 1): 1, (1, 0): 1}
    if faults(problem, before):
        return
    ones = np.ones(2, dtype=np.int64)
    after = as_dict(
        exchange_sizes(
            problem, Assignments(np.array([0, 1]), np.array([0, 1]), ones), tuning=PLACING.exchange, log=[]
        )
    )
    saves = cost_by_hand(problem, before) - cost_by_hand(problem, swapped)
    size = [sizes[problem.shape[cls]] for cls in (0, 1)]
    downhill = (start[0] + size[0] - start[1] - size[1]) * (size[0] - size[1]) > 0
    # Exchanges that sizes alone do not pay for are left to the flow.
    by_size = saves - other_by_hand(problem, before) + other_by_hand(problem, swapped)
    if min(saves, by_size) > 0.001 and downhill and _nothing_shared(problem) and not faults(problem, swapped):
        assert after == swapped
    if saves < -0.001 or faults(problem, swapped):
        assert after == before


def _nothing_shared(problem: PlacementProblem) -> bool:
    """Whether no joint row is shared by machines: exchanges leave those as they are."""
    return all(
        len(set(rows.row_of[rows.row_of >= 0].tolist())) == int((rows.row_of >= 0).sum())
        for rows in problem.joint
    )
