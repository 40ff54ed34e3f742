"""Expected prices that begin where those of an earlier round ended, beside those that are found afresh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import Bool
from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.price_estimate.continuation import continue_prices
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.price_estimate.market import CrowdingSteps, MarketDemand, typical_step
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual, machine_units
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.tuning import FLOW, PRICES

CLASSES = 40
MACHINES = 1_500


def cluster(seed: int = 2, *, tasks: int = 20, dearer: int = 0) -> PlacementProblem:
    """Machines that suit classes differently; ``dearer``: what all of them charge more."""
    random = np.random.default_rng(seed)
    level = random.integers(0, 3_000, MACHINES) + dearer
    return problem(
        tasks=[tasks] * CLASSES,
        requests=[[1]] * CLASSES,
        free=random.integers(2, 8, (MACHINES, 1)).tolist(),
        cost=(level + random.integers(0, 400, (CLASSES, MACHINES))).tolist(),
        crowd=random.integers(100, 250, MACHINES).tolist(),
    )


def fits_of(given: PlacementProblem) -> tuple[Residual, dict[int, Bool]]:
    residual = Residual(given)
    return residual, {shape: residual.find_fitting(shape) for shape in range(CLASSES)}


def learned(given: PlacementProblem) -> DualPrices:
    found = estimate_prices(*fits_of(given), PRICES)
    assert found.sharp
    assert found.dual_prices is not None
    assert found.dual_prices.shape.tolist() == list(range(CLASSES))
    return found.dual_prices


def continued(given: PlacementProblem, dual_prices: DualPrices | None):
    given = replace(given, dual_prices=dual_prices)
    residual, fits = fits_of(given)
    steps = CrowdingSteps.from_problem(
        given,
        np.zeros(MACHINES, dtype=np.int64),
        machine_units(residual, residual.active()),
        flattest=PRICES.flattest,
    )
    tasks = given.counts.sum(axis=1).astype(np.float64)
    return continue_prices(MarketDemand(given, fits, steps, np.arange(CLASSES), tasks), PRICES)


@pytest.mark.parametrize(
    ("now", "moved"),
    [(cluster(), 0), (cluster(tasks=26), 0), (cluster(dearer=500), 500)],
    ids=["the same", "more tasks", "dearer machines"],
)
def test_prices_are_those_that_are_found_afresh(now: PlacementProblem, moved: int):
    before = learned(cluster())
    found = continued(now, before)
    assert found is not None
    machines, market, present, prices = found
    afresh = learned(now)
    assert present.tolist() == list(range(CLASSES))
    assert (np.diff(machines) > 0).all()
    assert prices.worth == pytest.approx(afresh.price, abs=0.05 * typical_step(now))
    assert prices.load.sum() == pytest.approx(market.tasks.sum(), rel=0.01)
    assert abs(float((prices.worth - before.price).mean()) - moved) < 2.5 * typical_step(now)


def test_a_new_shape_is_priced_by_what_machines_charge():
    before = learned(cluster())
    rest = np.delete(np.arange(CLASSES), 7)
    found = continued(cluster(), DualPrices(rest, before.price[rest]))
    assert found is not None
    assert found[3].worth == pytest.approx(before.price, abs=0.05 * typical_step(cluster()))


def astray() -> np.ndarray:
    return np.random.default_rng(1).normal(0, 900, CLASSES).astype(np.float32)


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda _: None,
        lambda _: DualPrices.none(),
        lambda before: DualPrices(before.shape[: CLASSES // 2], before.price[: CLASSES // 2]),
        lambda before: DualPrices(before.shape, before.price + astray()),
        lambda before: DualPrices(
            before.shape, before.price + np.float32(2 * PRICES.continuation.most_moved * 250)
        ),
        lambda before: DualPrices(
            before.shape, before.price - np.float32(2 * PRICES.continuation.most_moved * 250)
        ),
        lambda before: DualPrices(before.shape, before.price * np.float32(-1e30)),
        lambda before: DualPrices(before.shape, before.price * np.float32(1e30)),
    ],
    ids=["none", "empty", "too few", "astray", "too high", "too low", "absurdly low", "absurdly high"],
)
def test_prices_that_mislead_are_not_used(spoilt):
    now = cluster()
    dual_prices = spoilt(learned(now))
    assert continued(now, dual_prices) is None
    estimate, afresh = (
        estimate_prices(*fits_of(replace(now, dual_prices=dual_prices)), PRICES),
        estimate_prices(*fits_of(now), PRICES),
    )
    assert np.array_equal(estimate.price, afresh.price)
    assert np.array_equal(estimate.load, afresh.load)


def test_a_shape_that_fits_nowhere_is_left_to_others():
    now = cluster()
    now.feasible[3] = False
    dual_prices = learned(cluster())
    assert continued(now, dual_prices) is None
    assert (
        continued(now, DualPrices(np.delete(dual_prices.shape, 3), np.delete(dual_prices.price, 3))) is None
    )


@pytest.mark.parametrize("seed", range(3))
def test_flows_cost_the_same_however_prices_began(seed: int):
    options = GenerationOptions(whole=0)
    costs = []
    for dual_prices in (None, learned(cluster(seed, tasks=15)), learned(cluster(seed + 10))):
        residual, fits = fits_of(replace(cluster(seed), dual_prices=dual_prices))
        best = optimal_flow(residual, fits, OrToolsSolver(), options, tuning=FLOW)
        assert best is not None
        assert best.certified
        assert best.dual_prices is not None
        costs.append(best.bound)
    assert costs[0] == costs[1] == costs[2]


def test_equal_worths_of_one_shape_are_told_once():
    dual_prices = DualPrices.from_shapes(np.array([4, 2, 4]), np.array([1, 2, 3], dtype=np.float32))
    assert dual_prices.shape.tolist() == [2, 4]
    assert dual_prices.price.tolist() == [2, 1]
    found = dual_prices.get(np.array([5, 4, 0, 2]))
    assert np.isnan(found[[0, 2]]).all()
    assert found[[1, 3]].tolist() == [1, 2]
