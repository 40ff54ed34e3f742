"""Which machines take part: prices from a part of the machines, and what they say about all."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.price_estimate.equilibrium import estimate_first_prices, find_wanted_machines
from firmament.core.flow.price_estimate.market import CrowdingSteps, MarketDemand, typical_step
from firmament.core.flow.price_estimate.newton import balance, refine
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual, machine_units
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.tuning import FLOW, NEWTON, PRICES


def cluster(machines: int, seed: int = 2, classes: int = 6) -> PlacementProblem:
    """Machines that suit classes differently, with room for a few tasks each; tasks for a third of them."""
    random = np.random.default_rng(seed)
    return problem(
        tasks=[machines // 3 // classes] * classes,
        requests=[[1]] * classes,
        free=random.integers(0, 6, (machines, 1)).tolist(),
        cost=(random.integers(0, 3_000, machines) + random.integers(0, 400, (classes, machines))).tolist(),
        crowd=random.integers(100, 250, machines).tolist(),
    )


def prepared(given: PlacementProblem):
    residual = Residual(given)
    fits = {shape: residual.find_fitting(shape) for shape in range(len(given.requests))}
    steps = CrowdingSteps.from_problem(
        given,
        np.zeros(given.machines, dtype=np.int64),
        machine_units(residual, residual.active()),
        flattest=PRICES.flattest,
    )
    tasks = given.counts.sum(axis=1).astype(float)
    return residual, MarketDemand(given, fits, steps, np.arange(len(given.requests)), tasks)


def test_a_part_of_the_machines_has_nearly_the_prices_of_all():
    given = cluster(3 * PRICES.looked_at)
    _, demand = prepared(given)
    rough = estimate_first_prices(demand, PRICES)
    market, _ = demand.market(np.arange(given.machines))
    load = np.full(given.machines, demand.tasks.sum() / given.machines, dtype=np.float32)
    every = refine(
        market,
        refine(
            market,
            balance(market, demand.steps.base, load, demand.steps.step),
            NEWTON.coarse,
            tuning=NEWTON,
        ).worth,
        NEWTON.coarse,
        tuning=NEWTON,
    )
    assert rough == pytest.approx(every.worth, abs=0.5 * typical_step(given))


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_uses_none_but_wanted_machines(seed: int):
    given = cluster(2 * PRICES.looked_at + 500, seed)
    residual, demand = prepared(given)
    wanted, paid = find_wanted_machines(demand, estimate_first_prices(demand, PRICES), PRICES.reach)
    best = optimal_flow(residual, demand.fits, OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW)
    assert best is not None
    assert best.certified
    used = np.unique(best.assignments().machine)
    assert np.isin(used, wanted).mean() > 0.99
    assert len(wanted) < 2.5 * len(used)
    assert (np.diff(wanted) > 0).all()
    assert len(paid) == len(wanted)


def test_a_shape_that_fits_few_machines_wants_all_of_those():
    given = cluster(3 * PRICES.looked_at)
    given.feasible[0] = False
    rare = [5, PRICES.looked_at, 2 * PRICES.looked_at + 1]
    given.feasible[0, rare] = True
    given.free[rare] = 3
    _, demand = prepared(given)
    rough = estimate_first_prices(demand, PRICES)
    assert np.isnan(rough[0])
    assert not np.isnan(rough[1:]).any()
    wanted, _ = find_wanted_machines(demand, rough, PRICES.reach)
    assert np.isin(rare, wanted).all()


def test_where_nothing_fits_nothing_is_wanted():
    given = problem(tasks=[2, 2], requests=[[5], [6]], free=[[1]] * 4)
    _, demand = prepared(given)
    rough = estimate_first_prices(demand, PRICES)
    assert np.isnan(rough).all()
    wanted, _ = find_wanted_machines(demand, rough, PRICES.reach)
    assert len(wanted) == 0


@pytest.mark.parametrize("classes", [10, 40, 160])
def test_classes_that_are_alike_find_their_machines(classes: int):
    """On machines that are alike, too: what each class would pay is at first put far below what any of them costs."""
    given = problem(
        tasks=[2] * classes,
        requests=[[1]] * classes,
        free=[[20]] * 200,
        cost=[[cls] * 200 for cls in range(classes)],
        crowd=[20] * 200,
    )
    residual, demand = prepared(given)
    assert np.isfinite(estimate_first_prices(demand, PRICES)).all()
    best = optimal_flow(residual, demand.fits, OrToolsSolver(), GenerationOptions(whole=0), tuning=FLOW)
    assert best is not None
    assert best.certified
    assert sum(best.assignments().count) == 2 * classes


def test_offers_are_exact_to_the_unit():
    given = problem(
        tasks=[1, 1], requests=[[1], [1]], free=[[1]] * 3, cost=[[7, 100_003, 50], [9, 100_000, 40]]
    )
    given.feasible[:, 2] = False
    _, demand = prepared(given)
    paid = demand.best_offers(np.arange(2), np.array([123_457, 123_458], dtype=np.float32))
    assert paid[:2].tolist() == [123_450, 23_458]
    assert paid[2] < -(2**28)
