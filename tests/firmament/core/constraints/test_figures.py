"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.constraints.topology_spread_skew:NO_MINIMUM": 2_147_483_648,
    "firmament.core.constraints.pod_affinity_score:AFFINITY_WEIGHT": 2,
    "firmament.core.constraints.pod_affinity_score:HARD_AFFINITY_WEIGHT": 1,
    "firmament.core.constraints.quota_flavors:MOST_CHOICES": 64,
    "firmament.core.constraints.quota_order:QuotaStanding.borrows": 0,
    "firmament.core.constraints.quota_order:WEIGHTLESS": 1.2089258196146292e24,
    "firmament.core.constraints.remaining_quota:ENDLESS": 1_099_511_627_776,
    "firmament.core.constraints.remaining_quota:MANY": 64,
    "firmament.core.constraints.remaining_quota:UNKNOWN": ((-1, 0),),
    "firmament.core.constraints.quota_terms:DrawGroup.number": 0,
    "firmament.core.constraints.quota_tree:UNBOUNDED": 1_152_921_504_606_846_976,
    "firmament.core.constraints.ruleset:ClassRules.modelled": False,
    "firmament.core.constraints.topology_spread_score:SPREAD_WEIGHT": 2,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
