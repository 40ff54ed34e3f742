"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "cost_models.numa.arguments:NumaOptions.discard_reserved": False,
    "cost_models.numa.arguments:NumaOptions.evicting": False,
    "cost_models.numa.arguments:NumaOptions.kubelet_sidecars": False,
    "cost_models.numa.arguments:NumaOptions.pod_hints": False,
    "cost_models.numa.arguments:NumaOptions.proposal": False,
    "cost_models.numa.arguments:NumaOptions.refuse_unknown": False,
    "cost_models.numa.kubelet_simulation:SIMULATED": 16,
    "cost_models.numa.least_zones:MOST_SETS": 20_000,
    "cost_models.numa.least_zones:SETS_AT_ONCE": 128,
    "cost_models.numa.numa_fit:LOCAL_DISTANCE": 10,
    "cost_models.numa.records:DEFAULT_MAX_ZONES": 8,
    "cost_models.numa.records:LARGEST": 9_007_199_254_740_992,
    "cost_models.numa.records:MOST_MAX_ZONES": 1024,
    "cost_models.numa.records:MOST_ZONES": 64,
    "cost_models.numa.records:UNKNOWN_DISTANCE": 255,
    "cost_models.numa.requests:NOT_ASKED": -2,
    "cost_models.numa.room_after_eviction:CORE": 1000,
    "cost_models.numa.room_after_eviction:MOST_WORLDS": 2000,
    "cost_models.numa.room_after_eviction:NEVER": 4_611_686_018_427_387_904,
    "cost_models.numa.scores:PERFECT": 100,
    "cost_models.numa.single_zone_alignment:ADMITTED": -1,
    "cost_models.numa.single_zone_alignment:UNLISTED": -1,
    "cost_models.numa.zone_ledger:UNKNOWN": -1,
    "cost_models.numa.zone_sets:MOST_ZONES": 8,
    "cost_models.numa.zones:NO_RECORD": -1,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
