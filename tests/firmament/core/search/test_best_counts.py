"""How many tasks of a group go to each place at the least cost, against trying all ways."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from firmament.core.search.moves.spread_classes import Places, best_counts, worth_a_look
from tests.support.rules import ints


def places(
    charge: list[float],
    *,
    growth: list[float] | None = None,
    crowd: list[int] | None = None,
    room: list[int] | None = None,
    near: list[int] | None = None,
    domain: list[int] | None = None,
    crowd_step: int = 1,
) -> Places:
    nothing = [0] * len(charge)
    return Places(
        np.array(charge, dtype=np.float64),
        np.array(growth or nothing, dtype=np.float64),
        ints(*(crowd or nothing)),
        ints(*(room or [9] * len(charge))),
        ints(*(near or nothing)),
        ints(*(domain or nothing)),
        crowd_step,
    )


def counted(
    given: Places, tasks: int, *in_domain: int, machine: float = 0.0, domain: float = 0.0
) -> list[int] | None:
    found = best_counts(given, tasks, ints(*(in_domain or (0,))), machine, domain)
    return None if found is None else found.tolist()


def test_cheaper_places_are_filled_first():
    assert counted(places([3.0, 1.0, 2.0], room=[9, 2, 9]), 3) == [0, 2, 1]
    assert counted(places([3.0, 1.0], room=[1, 1]), 2) == [1, 1]
    assert counted(places([3.0, 1.0], room=[1, 1]), 3) is None


def test_each_task_raises_the_cost_of_the_next():
    assert counted(places([0.0, 3.5], growth=[1.0, 0.0], crowd=[4, 0]), 1) == [0, 1]
    assert counted(places([0.0, 4.5], growth=[1.0, 0.0], crowd=[4, 0]), 1) == [1, 0]
    assert counted(places([0.0, 2.5], growth=[1.0, 0.0]), 5) == [3, 2]
    assert counted(places([0.0, 2.5], growth=[1.0, 0.0], crowd_step=4), 5) == [4, 1]
    assert counted(places([0.0, 2.5], growth=[1.0, 0.0], crowd=[3, 0], crowd_step=4), 2) == [1, 1]


def test_neighbours_cost_more():
    assert counted(places([0.0, 2.5]), 4, machine=1.0) == [3, 1]
    assert counted(places([0.0, 2.5], near=[2, 0]), 4, machine=1.0) == [2, 2]
    assert counted(places([0.0, 0.1, 2.5], domain=[0, 0, 1]), 3, 0, 0, domain=1.0) == [3, 0, 0]
    assert counted(places([0.0, 0.1, 2.5], domain=[0, 0, 1]), 3, 2, 0, domain=1.0) == [2, 0, 1]


def cost(
    given: Places, counts: tuple[int, ...], in_domain: list[int], machine: float, domain: float
) -> float:
    total = 0.0
    for row, count in enumerate(counts):
        for step in range(count):
            crowd = (int(given.crowd[row]) + step) // given.crowd_step * given.crowd_step
            total += float(given.charge[row] + given.growth[row] * crowd) + machine * (
                int(given.near[row]) + step
            )
    for number, others in enumerate(in_domain):
        tasks = sum(count for row, count in enumerate(counts) if int(given.domain[row]) == number)
        total += domain * sum(others + step for step in range(tasks))
    return total


@pytest.mark.parametrize("seed", range(40))
def test_no_other_way_costs_less(seed: int):
    draw = Random(seed)
    width, tasks = draw.randint(1, 4), draw.randint(1, 4)

    def numbers(most: int) -> list[int]:
        return [draw.randint(0, most) for _ in range(width)]

    given = places(
        [float(each) for each in numbers(6)],
        growth=[float(each) for each in numbers(2)],
        crowd=numbers(4),
        room=[1 + each for each in numbers(2)],
        near=numbers(2),
        domain=numbers(1),
        crowd_step=draw.choice((1, 1, 3)),
    )
    in_domain, machine, domain = [draw.randint(0, 2) for _ in range(2)], draw.choice((0.0, 1.0)), 1.0
    ways = [
        each
        for each in product(*(range(min(int(room), tasks) + 1) for room in given.room))
        if sum(each) == tasks
    ]
    found = best_counts(given, tasks, ints(*in_domain), machine, domain)
    assert (found is not None) == bool(ways)
    if found is not None:
        mine = cost(given, tuple(found.tolist()), in_domain, machine, domain)
        assert mine == pytest.approx(min(cost(given, each, in_domain, machine, domain) for each in ways))


def test_which_places_are_worth_a_look():
    given = places([5.0, 1.0, 3.0, 2.0, 9.0], domain=[0, 0, 0, 1, 1])
    assert worth_a_look(given, 1, 2, 0.0).tolist() == [1, 3]
    assert worth_a_look(given, 2, 2, 0.0).tolist() == [1, 2, 3, 4]
    assert worth_a_look(given, 3, 2, 0.0).tolist() == [0, 1, 2, 3, 4]
    crowded = places([5.0, 1.0, 3.0], growth=[0.0, 1.0, 0.0], crowd=[0, 3, 0], near=[0, 0, 1])
    assert worth_a_look(crowded, 1, 1, 0.0).tolist() == [2]
    assert worth_a_look(crowded, 1, 1, 1.5).tolist() == [1]
