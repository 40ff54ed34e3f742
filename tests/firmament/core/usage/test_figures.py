"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.usage.history:SLACK": 1e-06,
    "firmament.core.usage.history:SLOTS": 128,
    "firmament.core.usage.history:SPACING": 15.0,
    "firmament.core.usage.samples:MOST_WINDOWS": 64,
    "firmament.core.usage.samples:_ROWS": 64,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
