"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.pod_groups.readers.exclusive_topology:MOST_APART": 40,
    "poseidon.pod_groups.readers.exclusive_topology:MOST_PODS": 100_000,
    "poseidon.pod_groups.readers.exclusive_topology:MOST_SUBGROUPS": 512,
    "poseidon.pod_groups.readers.kueue_topology:_make_leaf.alone": False,
    "poseidon.pod_groups.readers.volcano:MOST_POLICIES": 64,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
