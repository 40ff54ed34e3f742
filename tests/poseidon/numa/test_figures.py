"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.numa.fingerprints:_MASK": 18_446_744_073_709_551_615,
    "poseidon.numa.fingerprints:_PRIME_1": 11_400_714_785_074_694_791,
    "poseidon.numa.fingerprints:_PRIME_2": 14_029_467_366_897_019_727,
    "poseidon.numa.fingerprints:_PRIME_3": 1_609_587_929_392_839_161,
    "poseidon.numa.fingerprints:_PRIME_4": 9_650_029_242_287_828_579,
    "poseidon.numa.fingerprints:_PRIME_5": 2_870_177_450_012_600_261,
    "poseidon.numa.fingerprints:xxhash64.seed": 0,
    "poseidon.numa.node_topology:LARGEST_MAX_ZONES": 1024,
    "poseidon.numa.node_topology:LATEST": 8,
    "poseidon.numa.node_topology:MOST_ZONES": 64,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
