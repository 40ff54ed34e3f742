"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.flow.column_generation:FlowOutcome.mends": 0,
    "firmament.core.flow.column_generation:FlowOutcome.time_limited": False,
    "firmament.core.flow.column_generation:GenerationOptions.added": 50_000,
    "firmament.core.flow.column_generation:GenerationOptions.base_least": 8,
    "firmament.core.flow.column_generation:GenerationOptions.base_most": 200,
    "firmament.core.flow.column_generation:GenerationOptions.base_total": 4000,
    "firmament.core.flow.column_generation:GenerationOptions.iterations": 16,
    "firmament.core.flow.column_generation:GenerationOptions.machines_each": 90,
    "firmament.core.flow.column_generation:GenerationOptions.repaired_most": 400,
    "firmament.core.flow.column_generation:GenerationOptions.sampled": 12_000,
    "firmament.core.flow.column_generation:GenerationOptions.samples": 1.0,
    "firmament.core.flow.column_generation:GenerationOptions.samples_each": 5.0,
    "firmament.core.flow.column_generation:GenerationOptions.samples_most": 8.0,
    "firmament.core.flow.column_generation:GenerationOptions.whole": 12_000,
    "firmament.core.flow.network.arc_columns:AT_ONCE": 300_000,
    "firmament.core.flow.network.network:crowding_cost.nth": 0,
    "firmament.core.flow.optimality.node_prices:MOST_SWEEPS": 1000,
    "firmament.core.flow.optimality.pricing:NARROW": 67_108_864,
    "firmament.core.flow.optimality.pricing:PAIRS_AT_ONCE": 200_000,
    "firmament.core.flow.optimality.primal_dual_repair:_FAR": 1_073_741_823,
    "firmament.core.flow.price_estimate.equilibrium:PriceEstimate.sharp": False,
    "firmament.core.flow.price_estimate.equilibrium:UNWANTED": 2_147_483_647,
    "firmament.core.flow.price_estimate.market:HIGHEST": 536_870_912,
    "firmament.core.flow.price_estimate.newton:BLOCK": 400_000,
    "firmament.core.flow.price_estimate.newton:FARTHEST": 25.0,
    "firmament.core.flow.price_estimate.newton:HALVED": 0.0001,
    "firmament.core.flow.price_estimate.newton:TINY": 1e-12,
    "firmament.core.flow.price_estimate.sampling:STRIDE": 0.618034,
    "firmament.core.flow.problem:COST_UNITS_PER_POINT": 100,
    "firmament.core.flow.problem:PlacementProblem.rotation": 0,
    "firmament.core.flow.problem:WAIT_BUCKETS": 4,
    "firmament.core.flow.residual:UNLIMITED": 2_305_843_009_213_693_951,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
