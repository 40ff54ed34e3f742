"""Newton's method on the classes' prices, against a plain bisection and against what solved networks charge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.price_estimate.market import FORBIDDEN, CrowdingSteps, Market
from firmament.core.flow.price_estimate.newton import BLOCK, balance, refine
from firmament.core.flow.residual import Residual
from tests.support.core import problem
from tests.support.tuning import NEWTON, PRICES


def market(classes: int, machines: int, seed: int = 3, *, tasks_each: int = 40, room: float = 9.0) -> Market:
    random = np.random.default_rng(seed)
    cost = random.integers(0, 1_000, (classes, machines)).astype(np.float32)
    cost[random.random(cost.shape) < 0.1] = FORBIDDEN
    return Market(
        cost=cost,
        tasks=np.full(classes, tasks_each, dtype=np.float32),
        steps=CrowdingSteps(
            base=random.integers(0, 3, machines).astype(np.float32) * 100,
            growth=random.integers(50, 200, machines).astype(np.float32),
            ahead=np.full(machines, 0.5, dtype=np.float32),
            room=np.full(machines, room, dtype=np.float32),
            step=100.0,
        ),
    )


def begun(given: Market) -> np.ndarray:
    steps = given.steps
    load = np.full(len(steps.base), given.tasks.sum() / len(steps.base), dtype=np.float32)
    return balance(given, steps.base + steps.growth * load, load, steps.step)


def taken(given: Market, offer: np.ndarray) -> np.ndarray:
    """Steps of each machine that cost no more than what is offered, one by one."""
    steps = given.steps
    counts = []
    for base, growth, room, price in zip(steps.base, steps.growth, steps.room, offer, strict=True):
        count = 0
        while count < room and base + growth * count <= price:
            count += 1
        counts.append(count)
    return np.array(counts)


def test_one_class_meets_one_price():
    given = market(1, 50)
    found = refine(given, begun(given), smoothings=NEWTON.sharp, tuning=NEWTON)
    low, high = 0.0, 10_000.0
    for _ in range(60):
        worth = (low + high) / 2
        low, high = (
            (worth, high) if taken(given, worth - given.cost[0]).sum() < given.tasks[0] else (low, worth)
        )
    assert found.load.sum() == pytest.approx(given.tasks[0], rel=0.01)
    assert found.worth[0] == pytest.approx(high, abs=25)
    assert found.price == pytest.approx(found.worth[0] - given.cost[0], abs=1)


@pytest.mark.parametrize("machines", [BLOCK // 6, BLOCK // 3 + 1])
def test_the_machines_take_all_tasks_and_none_takes_too_many(machines: int):
    given = market(6, machines, tasks_each=machines // 4)
    found = refine(given, begun(given), smoothings=NEWTON.sharp, tuning=NEWTON)
    assert found.load.sum() == pytest.approx(given.tasks.sum(), rel=0.005)
    assert found.lacking <= 0.01 * given.tasks.sum()
    assert (found.load >= 0).all()
    assert (found.load <= given.steps.room + 1e-3).all()
    assert len(found.load) == len(found.price) == machines


@pytest.mark.parametrize("seed", range(8))
def test_every_class_finds_its_tasks_from_however_poor_a_start(seed: int):
    given = market(20, 900, seed=seed, tasks_each=80)
    astray = begun(given) + np.random.default_rng(seed).normal(0, 300, 20).astype(np.float32)
    found = refine(
        given, refine(given, astray, NEWTON.coarse, tuning=NEWTON).worth, NEWTON.sharpest, tuning=NEWTON
    )
    assert found.lacking <= NEWTON.sharpest[-1].settled * given.tasks.sum()
    assert found.temperature == pytest.approx(NEWTON.sharpest[-1].temperature * given.steps.step)
    best = (found.worth[:, None] - given.cost).max(axis=0)
    # With hardly any smoothing left, a machine has the steps that its best offer pays for.
    clear = np.abs((best - given.steps.base) / given.steps.growth % 1 - 0.5) < 0.3
    assert (np.abs(found.load - taken(given, best))[clear] < 0.2).mean() > 0.97


def sizes_on_nodes(seed: int, classes: int = 60, machines: int = 1_500) -> Market:
    """What tasks cost goes by their sizes and by how full machines are, as most costs do."""
    random = np.random.default_rng(seed)
    size, full = random.uniform(0.5, 2, (classes, 2)), random.uniform(0, 1, (2, machines))
    cost = np.rint(size @ full * 400 + random.integers(0, 9, (classes, machines)))
    return Market(
        cost=cost.astype(np.float32),
        tasks=np.full(classes, machines / classes, dtype=np.float32),
        steps=CrowdingSteps(
            base=np.zeros(machines, dtype=np.float32),
            growth=np.full(machines, 200, dtype=np.float32),
            ahead=np.full(machines, 0.5, dtype=np.float32),
            room=np.full(machines, 9, dtype=np.float32),
            step=200.0,
        ),
    )


@pytest.mark.parametrize("seed", range(4))
def test_less_smoothing_begins_where_prices_were_heading(seed: int):
    given = sizes_on_nodes(seed)
    start = refine(given, begun(given), NEWTON.coarse, tuning=NEWTON).worth
    before = refine(given, start, NEWTON.sharpest[:-1], tuning=NEWTON)
    # Without steps of Newton's method the last smoothing shows how wrong the prices are that it begins with.
    only_begun = replace(NEWTON.sharpest[-1], steps=0)
    unmoved = refine(given, before.worth, (only_begun,), tuning=NEWTON)
    moved = refine(given, start, (*NEWTON.sharpest[:-1], only_begun), tuning=NEWTON)
    assert moved.temperature == unmoved.temperature < before.temperature
    assert moved.lacking < 0.75 * unmoved.lacking


def test_where_room_is_scarce_it_is_filled_and_prices_stay_finite():
    given = market(4, 40, tasks_each=200, room=3.0)
    found = refine(given, begun(given), smoothings=NEWTON.sharp, tuning=NEWTON)
    assert np.isfinite(found.price).all()
    assert np.isfinite(found.worth).all()
    assert found.load.sum() == pytest.approx(120, abs=1)


def test_classes_that_fit_nowhere_do_not_count():
    random = np.random.default_rng(3)
    cost = random.integers(0, 500, (3, 40)).tolist()
    every = problem(tasks=[40, 999, 40], requests=[[1], [99], [1]], free=[[9]] * 40, cost=cost, crowd=90)
    alone = problem(tasks=[40, 40], requests=[[1], [1]], free=[[9]] * 40, cost=[cost[0], cost[2]], crowd=90)
    found, expected = (
        estimate_prices(
            residual,
            {shape: residual.find_fitting(shape) for shape in range(len(given.requests))},
            tuning=PRICES,
        )
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
        steps=CrowdingSteps(
            base=random.integers(0, 25, machines).astype(np.float32) * 8 + 2_000,
            growth=np.full(machines, 194, dtype=np.float32),
            ahead=np.full(machines, 0.5, dtype=np.float32),
            room=np.full(machines, 5, dtype=np.float32),
            step=194.0,
        ),
    )
    found = refine(given, begun(given), smoothings=NEWTON.sharp, tuning=NEWTON)
    assert found.lacking <= 0.01 * given.tasks.sum()
    assert found.load.sum() == pytest.approx(given.tasks.sum(), rel=0.01)
