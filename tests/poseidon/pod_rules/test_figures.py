"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.pod_rules.redundant_pod_affinity:KeptTerm.apart": False,
    "poseidon.pod_rules.topology_spread:_LARGEST": 2_147_483_647,
    "poseidon.pod_rules.rule_limits:LIMITS": {
        "resources in requests": 128,
        "labels in the node selector": 500,
        "terms of node affinity and volumes": 500,
        "tolerations": 1000,
        "terms of pod affinity and anti-affinity": 100,
        "topology spread constraints": 16,
        "expressions in selectors": 500,
        "values in selectors": 20000,
    },
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
