"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.devices.sharing.koordinator.results:_UNITS": (
        ("Gi", 1073741824),
        ("Mi", 1048576),
        ("Ki", 1024),
    ),
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
