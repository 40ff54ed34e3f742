"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.selectors.label_columns:ABSENT": 0,
    "firmament.core.selectors.label_columns:LONGEST_INTEGER": 19,
    "firmament.core.selectors.taints:FEW": 4,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
