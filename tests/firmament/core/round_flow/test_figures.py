"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.round_flow.assembly:ClassWords.priority": 0,
    "firmament.core.round_flow.kept_back:MOST_CLASSES": 100,
    "firmament.core.round_flow.refusals_and_prices:MOST_SHAPES": 300,
    "firmament.core.round_flow.refusals_and_prices:_MOST_ROOM": 2_147_483_647,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
