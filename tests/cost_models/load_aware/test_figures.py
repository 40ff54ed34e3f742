"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "cost_models.load_aware.annotations:_LARGEST_INTEGER": 9_223_372_036_854_775_807,
    "cost_models.load_aware.arguments:Risk.tolerance": 0.01,
    "cost_models.load_aware.arguments:Strategy.default_cpu": 1000,
    "cost_models.load_aware.arguments:Strategy.margin": 1.0,
    "cost_models.load_aware.arguments:Strategy.multiplier": 1.5,
    "cost_models.load_aware.arguments:Strategy.sensitivity": 1.0,
    "cost_models.load_aware.arguments:Strategy.target": 40.0,
    "cost_models.load_aware.arguments:_percentages.least": 0,
    "cost_models.load_aware.joint_rows:EXCEEDED": 2,
    "cost_models.load_aware.machine_use:estimate_machine_use.alone": True,
    "cost_models.load_aware.machine_use:estimate_machine_use.prod": True,
    "cost_models.load_aware.risk:FIGURE_DRAWS": 2.0,
    "cost_models.load_aware.score_formulas:EXACT": 35_184_372_088_832,
    "cost_models.load_aware.scorer:BLIND_SECONDS": 60.0,
    "cost_models.load_aware.task_use:DEFAULT_INTERVAL": 60.0,
    "cost_models.load_aware.thresholds:MOST_PERCENT": 500,
    "cost_models.load_aware.thresholds:NO_LIMIT": 2_305_843_009_213_693_951,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
