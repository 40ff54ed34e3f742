"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "cost_models.network_aware.network_costs:SAME_ZONE_COST": 1.0,
    "cost_models.network_aware.network_costs:UNMEASURED_COST": 100.0,
    "cost_models.network_aware.records:LARGEST": 9_007_199_254_740_992,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
