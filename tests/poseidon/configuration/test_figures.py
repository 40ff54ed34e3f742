"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.configuration.document:StreamOptions.silence_timeout": 60.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
