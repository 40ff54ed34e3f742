"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.pod_groups.composites:FARTHEST_ROOT": 16,
    "poseidon.pod_groups.composites:GroupNode.apart": False,
    "poseidon.pod_groups.composites:GroupNode.disrupted_whole": False,
    "poseidon.pod_groups.composites:GroupNode.expected": 0,
    "poseidon.pod_groups.composites:GroupNode.expected_alike": False,
    "poseidon.pod_groups.composites:GroupNode.least": 0,
    "poseidon.pod_groups.composites:MAX_COUNT": 2_147_483_647,
    "poseidon.pod_groups.composites:MOST_LEVELS": 4,
    "poseidon.pod_groups.demands:Demand.disrupted_whole": False,
    "poseidon.pod_groups.demands:Demand.min_members": 0,
    "poseidon.pod_groups.demands:Demand.seconds": 0.0,
    "poseidon.pod_groups.demands:Demand.size": 0,
    "poseidon.pod_groups.demands:MAX_MEMBERS": 2_147_483_647,
    "poseidon.pod_groups.demands:MAX_SECONDS": 2_147_483_647,
    "poseidon.pod_groups.keep_room:_LONGEST": 1_000_000,
    "poseidon.pod_groups.koordinator:MOST_GANGS": 64,
    "poseidon.pod_groups.group_names:Membership.whole": False,
    "poseidon.pod_groups.roles:ChosenPods.needed": 0,
    "poseidon.pod_groups.scheduler_names:_MOST_NAMED": 3,
    "poseidon.pod_groups.koordinator:_SECONDS": {
        "ns": 1e-09,
        "us": 1e-06,
        "µs": 1e-06,
        "μs": 1e-06,
        "ms": 0.001,
        "s": 1.0,
        "m": 60.0,
        "h": 3600.0,
    },
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
