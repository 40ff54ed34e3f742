"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.cures.gang_cures:_FEWER_TRIES": 4,
    "firmament.core.cures.gang_cures:_MOST_ADDED": 100,
    "firmament.core.cures.group_tree_cures:_MOST_COARSER": 2,
    "firmament.core.cures.proposals:Cure.together": 0,
    "firmament.core.cures.search:_MACHINES": 3,
    "firmament.core.cures.search:_OF_A_KIND": 2,
    "firmament.core.cures.search:_STEPS": 3,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
