"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.disruption_budgets.eviction_answers:_MOST_UNCONFIRMED": 2000,
    "poseidon.disruption_budgets.records:_MOST_ALLOWED": 2_147_483_647,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
