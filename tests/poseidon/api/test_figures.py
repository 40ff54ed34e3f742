"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.api.display:_HEIGHT": 620,
    "poseidon.api.models:UseModel.weight": 1,
    "poseidon.api.reading:_DEEPEST_LIST": 50,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
