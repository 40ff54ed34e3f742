"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.offline.admission_trials:_MOST_NAMED": 3,
    "poseidon.offline.cluster:OfflineCluster.is_live": False,
    "poseidon.offline.cluster:OfflineCluster.now": 0.0,
    "poseidon.offline.cluster:build_offline_cluster.simulated": False,
    "poseidon.offline.evictability:list_running_pods.local_data_may_go": False,
    "poseidon.offline.explain_workload:WorkloadExplanation.refused": False,
    "poseidon.offline.move_costs:WORTH_MOVING": 20.0,
    "poseidon.offline.move_costs:_MOST_PRICE": 10_000_000,
    "poseidon.offline.plan:Round.arcs": 0,
    "poseidon.offline.plan:Round.certified": True,
    "poseidon.offline.plan:Round.classes": 0,
    "poseidon.offline.plan:Round.cost": 0,
    "poseidon.offline.plan:Round.gap": 0.0,
    "poseidon.offline.plan:Round.machines": 0,
    "poseidon.offline.plan:Round.passes": 0,
    "poseidon.offline.plan:Round.solves": 0,
    "poseidon.offline.plan:Round.tasks": 0,
    "poseidon.offline.plan:Round.waves": 0,
    "poseidon.offline.plan:_MAX_ROUNDS": 100,
    "poseidon.offline.quota_changes:_COMBINATIONS": 64,
    "poseidon.offline.quota_changes:_MOST_TRIED": 3,
    "poseidon.offline.quota_changes:_raise_stated.always": False,
    "poseidon.offline.refused_objects:_MOST_PASSES": 64,
    "poseidon.offline.tables:_MOST_INDENTED": 20,
    "poseidon.offline.tables:print_plan.wide": False,
    "poseidon.offline.waiting_workloads:_MOST_CAUSES": 3,
    "poseidon.offline.evictability:MoveRules.__init__.local_data_may_go": False,
    "poseidon.offline.explain_workload:_WaitingWorkload.describe.behind": 0,
    "poseidon.offline.explain_workload:_WaitingWorkload.describe.position": 0,
    "poseidon.offline.refused_objects:_LONGEST_NAME": 80,
    "poseidon.offline.refused_objects:_LONGEST_REASON": 300,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
