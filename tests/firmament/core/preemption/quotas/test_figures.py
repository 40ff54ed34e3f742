"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.preemption.quotas.flavors:MOST_WISHES": 1000,
    "firmament.core.preemption.quotas.flavors:NOWHERE": 1_073_741_824,
    "firmament.core.preemption.quotas.hindsight:MOST_STEPS": 50,
    "firmament.core.preemption.quotas.reclaim:FEW": 12,
    "firmament.core.preemption.quotas.reclaim:MOST_CANDIDATES": 256,
    "firmament.core.preemption.quotas.reclaim:MOST_TRIALS": 1000,
    "firmament.core.preemption.quotas.reclaim:NOWHERE": 1000,
    "firmament.core.preemption.quotas.reclaim:TREE_TRIALS": 10,
    "firmament.core.preemption.quotas.undone_evictions:is_taken_back.for_room": False,
    "firmament.core.preemption.quotas.units:QuotaUnit.tree": -1,
    "firmament.core.preemption.quotas.victim_sets:VictimChoice.lenient": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
