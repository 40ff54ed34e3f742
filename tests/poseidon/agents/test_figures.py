"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.agents.bandwidth_agent:_BITS": 1_000_000,
    "poseidon.agents.netperf_probe:ProbeOptions.samples": 1000,
    "poseidon.agents.netperf_probe:ProbeOptions.seconds": 2.0,
    "poseidon.agents.netperf_probe:_ATTEMPTS": 5,
    "poseidon.agents.netperf_probe:_LONGEST_KEY": 253,
    "poseidon.agents.netperf_probe:_PAGE": 500,
    "poseidon.agents.round_trip:MOST_SAMPLES": 100_000,
    "poseidon.agents.round_trip:_LONGEST_LINE": 1024,
    "poseidon.agents.round_trip:_PATIENCE": 10.0,
    "poseidon.agents.bandwidth_agent:BandwidthAgent.__init__.interval": 60.0,
    "poseidon.agents.round_trip:ANSWER_BYTES": 1024,
    "poseidon.agents.round_trip:REQUEST_BYTES": 32,
    "poseidon.agents.round_trip:RoundTripServer.__init__.most_clients": 64,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
