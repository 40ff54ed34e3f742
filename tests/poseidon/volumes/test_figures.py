"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.volumes.binding:VolumeOptions.bind_timeout": 600.0,
    "poseidon.volumes.binding:VolumeOptions.capacity_scoring": False,
    "poseidon.volumes.requirements:NO_LIMIT": 2_147_483_648,
    "poseidon.volumes.storage_capacity:LARGEST": 9_007_199_254_740_992,
    "poseidon.volumes.storage_capacity:_LONGEST_NAME": 253,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
