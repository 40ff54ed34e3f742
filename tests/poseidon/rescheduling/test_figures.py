"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.rescheduling.cluster_access:Eviction.for_now": False,
    "poseidon.rescheduling.initial_cluster:examine.local_data_may_go": False,
    "poseidon.rescheduling.mover:_BUDGET_PAUSE": 1.0,
    "poseidon.rescheduling.mover:_KEPT_SECONDS": 600.0,
    "poseidon.rescheduling.mover:_STUCK_SECONDS": 5.0,
    "poseidon.rescheduling.objectives:ObjectiveOptions.local_data_may_go": False,
    "poseidon.rescheduling.objectives:ObjectiveOptions.most": 100,
    "poseidon.rescheduling.objectives:ObjectiveOptions.move_cost": 20.0,
    "poseidon.rescheduling.objectives:ObjectiveOptions.tries": 200,
    "poseidon.rescheduling.objectives:Wanted.saves": 0.0,
    "poseidon.rescheduling.mover:_FIRST_LOOK": 0.25,
    "poseidon.rescheduling.mover:_LAST_LOOK": 2.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
