"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.live.cluster:_PAGE": 500,
    "poseidon.live.cluster:read_cluster.suspended": False,
    "poseidon.live.cures:_MOST_ASKED": 4,
    "poseidon.live.shadow:EPSILON": 1e-06,
    "poseidon.live.shadow:Report.bound": 0,
    "poseidon.live.shadow:Report.unknown": 0,
    "poseidon.live.shadow:_KNOWN_WITHIN": 20.0,
    "poseidon.live.shadow:_MOST_WAITING": 1000,
    "poseidon.live.shadow:_RETRY": 0.25,
    "poseidon.live.solver:_KEEPALIVE_SECONDS": 20.0,
    "poseidon.live.solver:_MOST_BYTES": 1_073_741_824,
    "poseidon.live.solver:_SEARCH_SECONDS": 30.0,
    "poseidon.live.support_bundle:MOST_ROUNDS": 20,
    "poseidon.live.support_bundle:_MOST_BYTES": 67_108_864,
    "poseidon.live.support_bundle:_PAGE": 500,
    "poseidon.live.support_bundle:_PAGE_SECONDS": 10.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
