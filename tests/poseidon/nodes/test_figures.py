"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.nodes.hyper_nodes:LONGEST_PATTERN": 256,
    "poseidon.nodes.hyper_nodes:MOST_REPETITIONS": 3,
    "poseidon.nodes.images:LEAST_SUM": 24_117_248,
    "poseidon.nodes.images:MOST_CONTAINERS": 64,
    "poseidon.nodes.images:_Held.heavy": False,
    "poseidon.nodes.images:_Held.holders": 0,
    "poseidon.nodes.machines:_MOST": 9_007_199_254_740_991,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
