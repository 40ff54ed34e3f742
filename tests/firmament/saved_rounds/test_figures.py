"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.saved_rounds.description:FORMAT": 5,
    "firmament.saved_rounds.graphs:CHECKED_ARCS": 20_000,
    "firmament.saved_rounds.rerouting:COMPLETED_ARCS": 200_000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
