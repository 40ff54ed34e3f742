"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "cost_models.devices.columns:_STATED_AT_MOST": 64,
    "cost_models.devices.gap_values:CELLS": 100,
    "cost_models.devices.gap_values:_CLOSE": 1e-09,
    "cost_models.devices.gap_values:_MOST_PIVOTS": 500,
    "cost_models.devices.gap_values:_STEPS_PER_OCTAVE": 4,
    "cost_models.devices.gpu_prices:AMPLE": 1.3,
    "cost_models.devices.gpu_prices:CAUTION": 0.1,
    "cost_models.devices.gpu_prices:MARGIN": 1.1,
    "cost_models.devices.known_losses:MOST_LOSSES": 4_000_000,
    "cost_models.devices.losses:FEW_PER_MACHINE": 2,
    "cost_models.devices.losses:GROWTH": 1.0,
    "cost_models.devices.usable_shares:SLACK": 1e-09,
    "cost_models.devices.usual_pods:COUNT": 1000,
    "cost_models.devices.usual_pods:NEGLIGIBLE": 10_000,
    "cost_models.devices.usual_pods:_MOST_PODS": 1000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
