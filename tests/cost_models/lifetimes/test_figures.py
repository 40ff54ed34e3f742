"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "cost_models.lifetimes.lifetimes:LEVELS": 12.0,
    "cost_models.lifetimes.lifetimes:STEP": 900.0,
    "cost_models.lifetimes.lifetimes:UNKNOWN": 2592000.0,
    "cost_models.lifetimes.lifetimes:_SURE": 1e-09,
    "cost_models.lifetimes.remaining:_LONGEST": 1000000000.0,
    "cost_models.lifetimes.remaining:_MOST_RUNS": 1000,
    "cost_models.lifetimes.remaining:_NOBODY": 1e-09,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
