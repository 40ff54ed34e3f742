"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.scoring.arc_costs:IN_CACHE": 65_536,
    "firmament.core.scoring.arc_costs:ROUNDING": 1e-06,
    "firmament.core.scoring.arc_costs:WORTH_LINES": 4096,
    "firmament.core.scoring.kept_rows:ASKING": 20_000,
    "firmament.core.scoring.kept_rows:COPYING": 0.16666666666666666,
    "firmament.core.scoring.kept_rows:LEAST_MACHINES": 256,
    "firmament.core.scoring.kept_rows:MOST_BYTES": 67_108_864,
    "firmament.core.scoring.kept_rows:MOST_ROUNDS": 16,
    "firmament.core.scoring.kept_rows:SORTING_IN": 0.5,
    "firmament.core.scoring.kept_rows:take_over.stand_in": 0,
    "firmament.core.scoring.round_assessment:LARGEST_COST": 1_000_000_000,
    "firmament.core.scoring.round_assessment:MOST_TYPICAL": 256,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
