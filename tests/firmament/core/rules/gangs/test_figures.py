"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rules.gangs.lifecycle:_GangStatus.failed": False,
    "firmament.core.rules.gangs.lifecycle:_GangStatus.whole": False,
    "firmament.core.rules.gangs.lifecycle:_GangStatus.withheld": False,
    "firmament.core.rules.gangs.rebinding:TRIES_IN_PLACE": 3,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
