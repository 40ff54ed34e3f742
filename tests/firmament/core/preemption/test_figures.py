"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.preemption.bundle_network:LARGEST_TOTAL": 2_305_843_009_213_693_952,
    "firmament.core.preemption.models_room:ENDLESS": 1_152_921_504_606_846_976,
    "firmament.core.preemption.problem:LOWEST_WEIGHT": 2_147_483_648,
    "firmament.core.preemption.problem:NOBODY": -4_611_686_018_427_387_904,
    "firmament.core.preemption.problem:PreemptionTuning.attempts": 32,
    "firmament.core.preemption.problem:PreemptionTuning.chunk": 4096,
    "firmament.core.preemption.problem:PreemptionTuning.few_machines": 128,
    "firmament.core.preemption.problem:PreemptionTuning.few_tasks": 32,
    "firmament.core.preemption.problem:PreemptionTuning.group_calls": 64,
    "firmament.core.preemption.problem:PreemptionTuning.most_found": 32,
    "firmament.core.preemption.problem:PreemptionTuning.most_gangs": 64,
    "firmament.core.preemption.problem:PreemptionTuning.most_moves": 2000,
    "firmament.core.preemption.problem:PreemptionTuning.most_paired": 256,
    "firmament.core.preemption.problem:PreemptionTuning.most_passes": 5000,
    "firmament.core.preemption.problem:PreemptionTuning.most_questions": 20_000,
    "firmament.core.preemption.problem:PreemptionTuning.spare_arcs": 64,
    "firmament.core.preemption.quota_users:QuotaUser.victim": -1,
    "firmament.core.preemption.quota_users:_APART": 8,
    "firmament.core.preemption.tree_groups.groups:PREEMPTION_STEPS": 500,
    "firmament.core.preemption.tree_groups.groups:VICTIM": 16_777_216,
    "firmament.core.preemption.tree_groups.slots:MANY": 2_147_483_648,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
