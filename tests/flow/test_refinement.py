"""Newton's method on the classes' prices, against a plain bisection and against what solved networks charge."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.flow.equilibrium import expected_spread
from firmament.flow.problem import Residual
from firmament.flow.refinement import (
    BLOCK,
    COARSE_LEVELS,
    FORBIDDEN,
    Market,
    refined,
    refined_from,
    sampled,
)
from tests.support.core import problem


def market(classes: int, machines: int, seed: int = 3, *, tasks_each: int = 40, room: float = 9.0) -> Market:
    random = np.random.default_rng(seed)
    cost = random.integers(0, 1_000, (classes, machines)).astype(np.float32)
    cost[random.random(cost.shape) < 0.1] = FORBIDDEN
    return Market(
        cost=cost,
        tasks=np.full(classes, tasks_each, dtype=np.float32),
        base=random.integers(0, 3, machines).astype(np.float32) * 100,
        growth=random.integers(50, 200, machines).astype(np.float32),
        ahead=np.full(machines, 0.5, dtype=np.float32),
        room=np.full(machines, room, dtype=np.float32),
        step=100.0,
    )


def begun(given: Market) -> tuple[np.ndarray, np.ndarray]:
    load = np.full(len(given.base), given.tasks.sum() / len(given.base), dtype=np.float32)
    return given.base + given.growth * load, load


def test_one_class_meets_one_price():
    given = market(1, 50)
    found = refined(given, *begun(given))
    low, high = 0.0, 10_000.0
    for _ in range(60):
        worth = (low + high) / 2
        wanted = np.clip((worth - given.cost[0] - given.base) / given.growth + 0.5, 0, given.room)
        low, high = (worth, high) if wanted.sum() < given.tasks[0] else (low, worth)
    used = wanted > 0
    assert found.load.sum() == pytest.approx(given.tasks[0], rel=0.01)
    assert found.price[used] == pytest.approx(np.maximum(low - given.cost[0], given.base)[used], abs=2)


@pytest.mark.parametrize("machines", [BLOCK, 5 * BLOCK + 1])
def test_the_machines_take_all_tasks_and_none_takes_too_many(machines: int):
    given = market(6, machines, tasks_each=machines // 4)
    found = refined(given, *begun(given))
    assert found.load.sum() == pytest.approx(given.tasks.sum(), rel=0.02)
    assert (found.load >= 0).all()
    assert (found.load <= given.room + 1e-3).all()
    assert (found.price >= given.base).all()
    assert len(found.load) == len(found.price) == machines


def test_where_room_is_scarce_it_is_filled_and_prices_stay_finite():
    given = market(4, 40, tasks_each=200, room=3.0)
    found = refined(given, *begun(given))
    assert np.isfinite(found.price).all()
    assert found.load.sum() <= 120 + 1e-3


def test_classes_that_fit_nowhere_do_not_count():
    random = np.random.default_rng(3)
    cost = random.integers(0, 500, (3, 40)).tolist()
    every = problem(tasks=[40, 999, 40], requests=[[1], [99], [1]], free=[[9]] * 40, cost=cost, crowd=90)
    alone = problem(tasks=[40, 40], requests=[[1], [1]], free=[[9]] * 40, cost=[cost[0], cost[2]], crowd=90)
    found, expected = (
        expected_spread(residual, {shape: residual.fits(shape) for shape in range(len(given.requests))})
        for given in (every, alone)
        for residual in [Residual(given)]
    )
    assert found.sharp
    assert expected.sharp
    assert found.price[expected.load > 0] == pytest.approx(expected.price[expected.load > 0], abs=20)


def test_few_tasks_on_many_machines_that_cost_nearly_the_same_settle():
    random = np.random.default_rng(9)
    classes, machines = 40, 3_000
    given = Market(
        cost=random.integers(0, 40, (classes, machines)).astype(np.float32) * 8,
        tasks=np.full(classes, 20, dtype=np.float32),
        base=random.integers(0, 25, machines).astype(np.float32) * 8 + 2_000,
        growth=np.full(machines, 194, dtype=np.float32),
        ahead=np.full(machines, 0.5, dtype=np.float32),
        room=np.full(machines, 5, dtype=np.float32),
        step=194.0,
    )
    found = refined(given, *begun(given))
    assert found.lacking <= 0.2 * given.tasks.sum()
    assert found.load.sum() == pytest.approx(given.tasks.sum(), rel=0.2)


def test_a_part_of_the_machines_has_nearly_the_prices_of_all():
    given = market(6, 2_000, tasks_each=1_000)
    part, drawn = sampled(given)
    assert (part.cost == given.cost[:, drawn]).all()
    assert part.tasks.sum() / given.tasks.sum() == pytest.approx(len(drawn) / 2_000)
    coarse = refined(part, *begun(part), COARSE_LEVELS)
    every = refined(given, *begun(given), COARSE_LEVELS)
    assert coarse.worth == pytest.approx(every.worth, abs=0.2 * given.step)


def test_finer_levels_take_over_from_coarse_ones():
    given = market(6, 2_000, tasks_each=1_000)
    coarse = refined(given, *begun(given), COARSE_LEVELS)
    fine = refined_from(given, coarse.worth)
    assert fine.temperature < coarse.temperature
    assert fine.lacking <= 0.01 * given.tasks.sum()
    hard = np.maximum((fine.worth[:, None] - given.cost).max(axis=0), given.base)
    assert fine.price == pytest.approx(hard, abs=0.05 * given.step)
