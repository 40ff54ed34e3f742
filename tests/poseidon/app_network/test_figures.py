"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.app_network.controller:CONCURRENCY": 8,
    "poseidon.app_network.controller:GATHER_SECONDS": 0.5,
    "poseidon.app_network.controller:REST": 4.0,
    "poseidon.app_network.last_good_specs:_LARGEST_ANNOTATION": 100_000,
    "poseidon.app_network.object_writer:WriteOutcome.conflict": False,
    "poseidon.app_network.options:NetworkOptions.bandwidth_annotations": False,
    "poseidon.app_network.proposals:Finding.warns": False,
    "poseidon.app_network.proposals:MOST_SHOWN": 5,
    "poseidon.app_network.spec.app_groups:Dependency.max_network_cost": 0,
    "poseidon.app_network.spec.app_groups:Dependency.min_bandwidth": 0,
    "poseidon.app_network.spec.app_groups:LARGEST_COST": 10_000,
    "poseidon.app_network.spec.ordering:TopologyOrder.cyclic": False,
    "poseidon.app_network.spec.reading:LARGEST_COUNT": 2_147_483_647,
    "poseidon.app_network.spec.netperf:_PER_MILLISECOND": {"milliseconds": 1, "microseconds": 1000},
    "poseidon.app_network.spec.reading:Reader.count.least": 0,
    "poseidon.app_network.spec.reading:Reader.mapping.needed": False,
    "poseidon.app_network.spec.reading:Reader.text.needed": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
