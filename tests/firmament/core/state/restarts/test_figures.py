"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.state.restarts.room_records:_MOST": 9_007_199_254_740_992,
    "firmament.core.state.restarts.restart_rooms:MOST_KEEPERS": 10,
    "firmament.core.state.restarts.room_arrays:_MOST_TOTALS": 16,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
