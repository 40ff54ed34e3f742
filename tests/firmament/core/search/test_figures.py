"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.search.driver:SearchFigures.accepted": 0,
    "firmament.core.search.driver:SearchFigures.tried": 0,
    "firmament.core.search.driver:search.needs": 1,
    "firmament.core.search.driver:search.patience": -1,
    "firmament.core.search.movable:UNBOUNDED": 1_099_511_627_776,
    "firmament.core.search.moves.application:_PATIENCE": 40,
    "firmament.core.search.moves.exchange:GOLDEN": 0.6180339887498949,
    "firmament.core.search.moves.spread:PREFERENCE": 0.001,
    "firmament.core.search.moves.spread_classes:FEW_DOMAINS": 16,
    "firmament.core.search.relocation:_USUAL_CHECKS": 16,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
