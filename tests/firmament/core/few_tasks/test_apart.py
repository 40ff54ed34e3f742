"""Places of a few tasks that prefer to be apart, against all ways to distribute them."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.few_tasks.apart import Neighbours, find_best_place, find_best_places
from firmament.core.few_tasks.first_costs import CLOSED
from tests.support.effort import examples
from tests.support.rules import ints


def near(
    on_machine: list[int], domain: list[int], machine_step: float = 10.0, domain_step: float = 3.0
) -> Neighbours:
    counts = ints(*on_machine)
    in_domain = np.bincount(ints(*domain), weights=counts).astype(np.int64)
    return Neighbours(counts, in_domain, ints(*domain), machine_step, domain_step)


def test_neighbours_are_the_tasks_of_one_group():
    terms = SpreadTerms(
        group=ints(0, 1),
        domain=ints(0, 0, 1),
        machine_step=np.array([1.0, 2.0]),
        domain_step=np.array([3.0, 4.0]),
        resident_group=ints(1, 0, 1, 1),
        resident_machine=ints(0, 1, 2, 2),
    )
    found = Neighbours.from_terms(terms, 1)
    assert found.on_machine.tolist() == [1, 0, 2]
    assert found.in_domain.tolist() == [1, 2]
    assert (found.machine_step, found.domain_step) == (2.0, 4.0)
    assert Neighbours.from_terms(terms, 0).on_machine.tolist() == [0, 1, 0]


def test_each_further_task_costs_a_step_more():
    given = near([1, 0, 0], [0, 0, 1])
    assert given.compute_nearby_cost(ints(1), ints(1)) == 3.0
    assert given.compute_nearby_cost(ints(0), ints(1)) == 13.0
    assert given.compute_nearby_cost(ints(2), ints(3)) == 3 * 10.0 + 3 * 3.0
    assert given.compute_nearby_cost(ints(0, 2), ints(2, 1)) == (1 + 2) * 10.0 + (1 + 2) * 3.0
    assert given.compute_nearby_cost(ints(), ints()) == 0.0


def units(*costs: int) -> np.ndarray:
    return np.array([CLOSED if cost < 0 else cost for cost in costs], dtype=np.int32)


@pytest.mark.parametrize(
    ("costs", "there", "expected"),
    [
        ((5, 5, 5), [1, 0, 0], 2),  # one is on the first machine, in the domain of the second
        ((5, 1, 9), [1, 0, 0], 1),
        ((5, 2, 5), [1, 0, 0], 1),  # 5 for both: the domains in their order
        ((0, 9, 99), [0, 0, 0], 0),
        ((7, 7, 7), [0, 0, 0], 0),
        ((-1, 7, 4), [0, 0, 9], 1),
        ((-1, -1, -1), [0, 0, 0], None),
    ],
)
def test_the_best_place_of_one_task(costs: tuple[int, ...], there: list[int], expected: int | None):
    assert find_best_place(units(*costs), near(there, [0, 0, 1])) == expected


def test_all_distributions_are_no_better():
    for seed in range(examples(40, least=20)):
        rnd = random.Random(seed)
        machines, tasks = rnd.randint(1, 4), rnd.randint(1, 4)
        domain = [rnd.randint(0, 1) for _ in range(machines)]
        domain[0] = 1
        given = near(
            [rnd.randint(0, 2) for _ in range(machines)],
            domain,
            rnd.choice((0.0, 10.0)),
            rnd.choice((0.0, 4.0)),
        )
        given = replace(given, in_domain=np.append(given.in_domain, [0] * (2 - len(given.in_domain))))
        costs = units(*(rnd.choice((-1, 0, 3, 8, 20)) for _ in range(machines)))
        growth, room = (
            [rnd.choice((0, 2)) for _ in range(machines)],
            [rnd.randint(1, 3) for _ in range(machines)],
        )

        def total(
            counts: tuple[int, ...],
            given: Neighbours = given,
            costs: np.ndarray = costs,
            growth: list[int] = growth,
        ) -> float:
            own = sum(
                count * int(cost) + step * count * (count - 1) // 2
                for count, cost, step in zip(counts, costs.tolist(), growth, strict=True)
            )
            return own + given.compute_nearby_cost(np.arange(len(counts)), ints(*counts))

        choices = [
            counts
            for counts in itertools.product(range(tasks + 1), repeat=machines)
            if sum(counts) == tasks
            and all(not count or (costs[m] < CLOSED and count <= room[m]) for m, count in enumerate(counts))
        ]
        found = find_best_places(
            costs,
            tasks,
            given,
            lambda rows, g=growth, r=room: (ints(*g)[rows], ints(*r)[rows]),  # type: ignore[misc]
        )
        if not choices:
            assert found is None, seed
            continue
        assert found is not None, seed
        counts = [0] * machines
        for row, count in zip(found[0].tolist(), found[1].tolist(), strict=True):
            counts[row] = count
        assert total(tuple(counts)) == pytest.approx(min(map(total, choices))), seed
