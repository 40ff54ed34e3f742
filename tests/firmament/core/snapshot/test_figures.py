"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.snapshot.grouping:PLACED": -1,
    "firmament.core.snapshot.grouping:WAIT_LIMITS": (1.0, 10.0, 60.0),
    "firmament.core.snapshot.grouping:_UNKNOWN": 1,
    "firmament.core.snapshot.model_inputs:DEFAULT_INTERVAL": 60.0,
    "firmament.core.snapshot.model_inputs:collect_load.without": -1,
    "firmament.core.snapshot.model_inputs:compute_unseen_use.without": -1,
    "firmament.core.snapshot.model_inputs:count_residents.without": -1,
    "firmament.core.snapshot.model_inputs:list_arrivals.without": -1,
    "firmament.core.snapshot.model_inputs:on_machines.without": -1,
    "firmament.core.snapshot.disruption_budgets:MOST_ALLOWED": 2_147_483_647,
    "firmament.core.snapshot.price_memory:MOST_ROUNDS": 16,
    "firmament.core.snapshot.running_as_waiting:snapshot_of_running.stay": False,
    "firmament.core.snapshot.snapshot:model_columns.without": -1,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
