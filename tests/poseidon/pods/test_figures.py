"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.pods.classes:LEAST_SURPLUS": 256,
    "poseidon.pods.class_keys:Traits.task_class": 0,
    "poseidon.pods.host_ports_images_disks:_HIGHEST": 65_535,
    "poseidon.pods.host_ports_images_disks:_LONGEST_DISK": 500,
    "poseidon.pods.learnt_run_times:LONGEST_NAME": 253,
    "poseidon.pods.learnt_run_times:MOST_PROGRAMS": 10_000,
    "poseidon.pods.learnt_run_times:STEPS_PER_OCTAVE": 4,
    "poseidon.pods.learnt_run_times:TOLD_AT_LEAST": 4,
    "poseidon.pods.learnt_run_times:WORTH_TELLING": 0.05,
    "poseidon.pods.learnt_run_times:_Program.count": 0,
    "poseidon.pods.learnt_run_times:_Program.sent_count": 0,
    "poseidon.pods.requests_and_limits:_FEW": 8,
    "poseidon.pods.requests_and_limits:amounts.down": False,
    "poseidon.pods.resizes:_apply_counts.sidecars": False,
    "poseidon.pods.run_times:GRACE_SECONDS": 30,
    "poseidon.pods.run_times:MOST_SECONDS": 1_000_000_000,
    "poseidon.pods.tasks:LONGEST": 1000,
    "poseidon.pods.tasks:Task.initialized": 0.0,
    "poseidon.pods.tasks:Task.scheduled": 0.0,
    "poseidon.pods.templates:_SOURCE_CACHE_LIMIT": 50_000,
    "poseidon.pods.templates:class_source.daemon": False,
    "poseidon.pods.tree_place:TreePlace.never_preempts": False,
    "poseidon.pods.visibility:Visibility.bandwidth": False,
    "poseidon.pods.visibility:Visibility.containers": False,
    "poseidon.pods.visibility:Visibility.daemons": False,
    "poseidon.pods.visibility:Visibility.limits": False,
    "poseidon.pods.visibility:Visibility.namespaces": False,
    "poseidon.pods.visibility:Visibility.programs": False,
    "poseidon.pods.visibility:Visibility.qualities": False,
    "poseidon.pods.visibility:Visibility.service_classes": False,
    "poseidon.pods.visibility:Visibility.timed": False,
    "poseidon.pods.visibility:VisibleLabels.namespace": False,
    "poseidon.pods.visibility:_MANY_NAMESPACES": 200,
    "poseidon.pods.visibility:visible_to.bandwidth": False,
    "poseidon.pods.koordinator_priority:_RANGES": {
        9: "koord-prod",
        7: "koord-mid",
        5: "koord-batch",
        3: "koord-free",
    },
    "poseidon.pods.requests_and_limits:ASSUMED": {"cpu": 100, "memory": 209715200},
    "poseidon.pods.priority_classes:HIGHEST": 2147483647,
    "poseidon.pods.priority_classes:LOWEST": -2147483648,
    "poseidon.pods.priority_classes:SYSTEM_CLASSES": {
        "system-cluster-critical": 2000000000,
        "system-node-critical": 2000001000,
    },
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
