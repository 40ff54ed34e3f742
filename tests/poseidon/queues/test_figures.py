"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.queues.kueue:_FEW": 3,
    "poseidon.queues.model:PreemptionPolicies.beyond_quota": True,
    "poseidon.queues.model:QuotaNode.fair": False,
    "poseidon.queues.model:QuotaNode.open_ended": False,
    "poseidon.queues.model:QuotaNode.reclaimable": True,
    "poseidon.queues.model:QuotaNode.weight": 1.0,
    "poseidon.queues.options:QueueOptions.fair_sharing": False,
    "poseidon.queues.owners:_DEEPEST": 8,
    "poseidon.queues.plain_trees:PlainQuota.lends": True,
    "poseidon.queues.plain_trees:PlainQuota.reclaimable": True,
    "poseidon.queues.plain_trees:PlainQuota.weight": 1.0,
    "poseidon.queues.plain_trees:_MOST_DEFECTS": 3,
    "poseidon.queues.queue_objects:MOST_STATED": 1_000_000_000,
    "poseidon.queues.quota_reading:MOST_WEIGHT": 1000000000.0,
    "poseidon.queues.statuses:PAUSE_SECONDS": 5.0,
    "poseidon.queues.statuses:_LONGEST": 1024,
    "poseidon.queues.volcano:MOST_WEIGHT": 2_147_483_647,
    "poseidon.queues.volcano:_KAI_UNITS": (
        ("cpu", "cpu", 1),
        ("gpu", "nvidia.com/gpu", 1),
        ("memory", "memory", 1000000),
    ),
    "poseidon.queues.quota_reading:MOST_FLAVORS": 64,
    "poseidon.queues.quota_reading:MOST_GROUPS": 16,
    "poseidon.queues.quota_reading:MOST_RESOURCES": 64,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
