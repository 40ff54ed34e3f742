"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.few_tasks.first_costs:MOST_CHANGED": 4,
    "firmament.core.few_tasks.first_costs:MOST_SHAPES": 64,
    "firmament.core.few_tasks.placing:MOST_TASKS": 24,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
