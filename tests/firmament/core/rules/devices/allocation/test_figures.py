"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rules.devices.allocation.jointly_served_tasks:MOST_PICKS_TOGETHER": 20_000,
    "firmament.core.rules.devices.allocation.jointly_served_tasks:MOST_ROOM": 1000,
    "firmament.core.rules.devices.allocation.jointly_served_tasks:MOST_STATES": 100_000,
    "firmament.core.rules.devices.allocation.search:MOST_PICKS": 20_000,
    "firmament.core.rules.devices.allocation.search:ViewUse.taken": 0,
    "firmament.core.rules.devices.allocation.search_plan:index_attribute.lists": True,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
