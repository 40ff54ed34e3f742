"""Whatever is known of shapes' prices, right or wrong, a flow is certified and costs the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import Means
from firmament.core.placement.placing import place
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.network import cost_by_ortools, full_network
from tests.support.effort import examples
from tests.support.histories.problems import (
    FEW_COLUMNS,
    SEEDS,
    fits_of,
    penalties_of,
    placement_problem,
    plain,
)
from tests.support.tuning import FLOW, PRICES

SOLVER = OrToolsSolver()
SIZES = {"seed": SEEDS, "classes": st.integers(2, 6), "machines": st.integers(1, 9)}
OFF = st.sampled_from([0.0, 0.1, 3.0, 1e4, 1e30])
"""How far known prices are from the right ones, in units."""


def with_worths(given: PlacementProblem, seed: int, off: float) -> PlacementProblem:
    """The problem with what it is about to find out, less some shapes, and ``off`` by about as much."""
    random = np.random.default_rng(seed)
    residual = Residual(given)
    found = (
        estimate_prices(residual, fits_of(residual), tuning=PRICES).dual_prices
        if residual.remaining.any()
        else None
    )
    if found is None:
        shapes = np.arange(len(given.requests))
        found = DualPrices(shapes, np.zeros(len(shapes), dtype=np.float32))
    kept = random.random(len(found)) < random.choice([0.5, 1.0])
    astray = found.price + np.float32(off) * random.normal(size=len(found)).astype(np.float32)
    return replace(given, dual_prices=DualPrices(found.shape[kept], astray[kept]))


@settings(max_examples=examples(120))
@given(off=OFF, few=st.booleans(), **SIZES)
def test_a_flow_is_certified_whatever_is_known(seed, classes, machines, off, few):
    known = with_worths(placement_problem(seed, classes, machines, roomy=True), seed, off)
    residual = Residual(known)
    options = FEW_COLUMNS if few else GenerationOptions(whole=0)
    outcome = optimal_flow(residual, fits_of(residual), SOLVER, options, tuning=FLOW)
    if outcome is None:
        return
    event(f"known: {len(known.dual_prices or ())}")
    arcs, supply = full_network(plain(residual), penalties_of(residual))
    assert outcome.certified
    assert outcome.bound == cost_by_ortools(arcs, supply)


@settings(max_examples=examples(60))
@given(off=OFF, **SIZES)
def test_a_round_places_as_many_whatever_is_known(seed, classes, machines, off):
    problem = placement_problem(seed, classes, machines, roomy=True)
    placed = [
        int(place(each, Means(SOLVER)).assignments.count.sum())
        for each in (problem, with_worths(problem, seed, off))
    ]
    assert placed[0] == placed[1]
