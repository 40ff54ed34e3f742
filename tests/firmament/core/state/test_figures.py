"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.state.class_selectors:_FEW": 16,
    "firmament.core.state.classes:LEAST_SURPLUS": 64,
    "firmament.core.state.device_allocations:DeviceAllocations.version": 0,
    "firmament.core.state.eviction_chains:LONGEST": 86400.0,
    "firmament.core.state.eviction_chains:MEMORY": 600.0,
    "firmament.core.state.machines:_ROWS": 64,
    "firmament.core.state.promised_room:_MOST": 9_007_199_254_740_992,
    "firmament.core.state.records:DEEPEST": 64,
    "firmament.core.state.records:MOST_KEPT": 10_000,
    "firmament.core.state.tasks:FEWEST": 1000,
    "firmament.core.state.tasks:REMOVED_PART": 4,
    "firmament.core.state.tasks:SPARE_PART": 8,
    "firmament.core.state.tasks:UNGROUPED": -2_147_483_649,
    "firmament.core.state.transitions:release.promised": False,
    "firmament.core.state.usage_reports:MARK_EVERY": 1.0,
    "firmament.core.state.usage_reports:ReportsOfUse.looked_at": 0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
