"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.intake.cluster_events:_FIRST_SPARE": 2_305_843_009_213_693_952,
    "firmament.core.intake.events:MOST_KINDS": 1000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
