"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rules.default_spread:MOST_DOMAIN_COUNTS": 5_000_000,
    "firmament.core.rules.default_spread:POINTS": 200,
    "firmament.core.rules.default_spread:_MOST_SINGLE_SEARCHES": 4,
    "firmament.core.rules.framework.limit_rule:RoundDemand.without": -1,
    "firmament.core.rules.framework.rule_counters:MANY": 32,
    "firmament.core.rules.framework.rule_counters:_SHORT": 65_536,
    "firmament.core.rules.framework.work:_VALUES_PER_CHECK": 50,
    "firmament.core.rules.image_locality:MAX_CONTAINER_IMAGE_BYTES": 1_048_576_000,
    "firmament.core.rules.image_locality:MIN_IMAGE_BYTES": 24_117_248,
    "firmament.core.rules.image_locality:WEIGHT": 1,
    "firmament.core.rules.model_constraints:find_kinds.without": -1,
    "firmament.core.rules.model_constraints:model_constraints.without": -1,
    "firmament.core.rules.node_affinity:WEIGHT": 2,
    "firmament.core.rules.label_typos:_LEAST_SIMILARITY": 0.7,
    "firmament.core.rules.node_resources:_FEW_RESOURCES": 8,
    "firmament.core.rules.node_resources:_CHECKS_PER_RESOURCE": 3,
    "firmament.core.rules.pod_affinity:_CHECKS_PER_TERM": 8,
    "firmament.core.rules.pod_affinity:_MOST_LEVELS": 2,
    "firmament.core.rules.registry:compile_rules.without": -1,
    "firmament.core.rules.taint_toleration:WEIGHT": 3,
    "firmament.core.rules.taint_toleration:_TOLERATIONS_PER_CHECK": 4,
    "firmament.core.rules.topology_spread:_CHECKS_PER_RULE": 24,
    "firmament.core.rules.volumes.node_volume_limits:MOST_KINDS": 64,
    "firmament.core.rules.volumes.storage_capacity:WEIGHT": 1,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
