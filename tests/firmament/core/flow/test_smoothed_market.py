"""Prices found from a kept kernel are those that are found afresh, and those of sums written out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from firmament.core.flow.price_estimate import newton
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.price_estimate.market import FORBIDDEN, CrowdingSteps, Market
from firmament.core.flow.price_estimate.newton import FARTHEST, MarketPoint, SmoothedMarket
from firmament.core.flow.residual import Residual
from tests.support.core import problem
from tests.support.tuning import PRICES

CLASSES, MACHINES = 5, 60
COSTS = np.random.default_rng(2).integers(0, 900, (3, 40)).tolist()


def market(seed: int = 1, *, step: float = 100.0) -> Market:
    random = np.random.default_rng(seed)
    cost = random.integers(0, 500, (CLASSES, MACHINES)).astype(np.float32)
    cost[random.random(cost.shape) < 0.2] = FORBIDDEN
    return Market(
        cost=cost,
        tasks=random.integers(5, 20, CLASSES).astype(np.float32),
        steps=CrowdingSteps(
            base=random.integers(0, 200, MACHINES).astype(np.float32),
            growth=random.integers(80, 120, MACHINES).astype(np.float32),
            ahead=np.full(MACHINES, 0.5, dtype=np.float32),
            room=np.full(MACHINES, 6, dtype=np.float32),
            step=step,
        ),
    )


def written_out(given: Market, worth: np.ndarray, temperature: float) -> tuple[list[float], np.ndarray]:
    """What machines are worth, and the classes' shares in each, machine by machine in double precision."""
    prices, shares = [], []
    for machine in range(MACHINES):
        offers = [
            (float(worth[cls]) - float(given.cost[cls, machine])) / temperature for cls in range(CLASSES)
        ]
        best = max(offers)
        powers = [np.exp(offer - best) for offer in offers]
        prices.append(temperature * (best + np.log(sum(powers))))
        shares.append([power / sum(powers) for power in powers])
    return prices, np.array(shares).T


def check(given: Market, point: MarketPoint, temperature: float) -> None:
    prices, shares = written_out(given, point.worth, temperature)
    open_to_some = (given.cost < FORBIDDEN).any(axis=0)
    assert point.temperature == pytest.approx(temperature)
    assert point.price[open_to_some] == pytest.approx(np.array(prices)[open_to_some], abs=0.05)
    assert point.served == pytest.approx(shares @ point.load, abs=0.02)
    assert point.missing == pytest.approx(given.tasks - point.served, abs=1e-4)


def test_other_prices_and_half_the_smoothing_need_no_new_kernel():
    given, random = market(), np.random.default_rng(2)
    smoothed, temperature = SmoothedMarket(given), 64.0
    worth = np.full(CLASSES, 600, dtype=np.float32)
    while temperature >= 2:
        smoothed.smooth(temperature, 0.3)
        for _ in range(3):
            check(given, smoothed.evaluate(worth), temperature)
            worth = worth + random.normal(0, 2 * temperature, CLASSES).astype(np.float32)
        temperature /= 2


@pytest.mark.parametrize("moved", [3 * FARTHEST, -3 * FARTHEST, 1e4])
def test_prices_far_from_the_last_ones_are_as_good(moved: float):
    given = market()
    smoothed = SmoothedMarket(given)
    smoothed.smooth(5.0, 0.3)
    worth = np.full(CLASSES, 600, dtype=np.float32)
    smoothed.evaluate(worth)
    check(
        given,
        smoothed.evaluate(worth + np.float32(5.0 * moved) * (np.arange(CLASSES, dtype=np.float32) % 2)),
        5.0,
    )


def test_smoothing_that_is_not_half_is_as_good():
    given = market()
    smoothed = SmoothedMarket(given)
    for temperature in (50.0, 7.0, 20.0):
        smoothed.smooth(temperature, 0.3)
        check(given, smoothed.evaluate(np.full(CLASSES, 600, dtype=np.float32)), temperature)


def test_slopes_are_those_of_small_changes():
    given = market()
    smoothed = SmoothedMarket(given)
    smoothed.smooth(40.0, 1.0)
    point = smoothed.evaluate(np.full(CLASSES, 500, dtype=np.float32))
    move = np.array([1, -2, 0, 3, 1], dtype=np.float32)
    passed_on = smoothed.pass_on(point, move)
    served = smoothed.take_from(point, np.ones(MACHINES, dtype=np.float32))
    moved = smoothed.evaluate(point.worth + np.float32(0.25) * move)
    assert 4 * (moved.price - point.price) == pytest.approx(passed_on, abs=0.1)
    _, shares = written_out(given, point.worth, 40.0)
    assert served == pytest.approx(shares.sum(axis=1), abs=0.01)


def test_flags_that_products_leave_behind_say_nothing(monkeypatch):
    """Of lanes of a register that no number is in."""
    residual = Residual(problem(tasks=[30] * 3, requests=[[1]] * 3, free=[[9]] * 40, cost=COSTS, crowd=100))
    fits = residual.find_fitting_by_shape([0, 1, 2])
    expected = estimate_prices(residual, fits, PRICES)
    product, flags = newton.sum_over_classes, []

    def with_a_flag(vector: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        flags.append(np.float32(np.inf) - np.float32(np.inf))
        return product(vector, matrix)

    monkeypatch.setattr(newton, "sum_over_classes", with_a_flag)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = estimate_prices(residual, fits, PRICES)
    assert flags
    assert np.array_equal(found.price, expected.price)
    assert np.isfinite(found.appeal).all()
