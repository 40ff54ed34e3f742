"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.kube.watch_options:ReflectorOptions.absent_seconds": 20.0,
    "poseidon.kube.watch_options:ReflectorOptions.backoff_cap": 10.0,
    "poseidon.kube.watch_options:ReflectorOptions.backoff_initial": 0.2,
    "poseidon.kube.watch_options:ReflectorOptions.broken_watches": 5,
    "poseidon.kube.watch_options:ReflectorOptions.look_seconds": 5.0,
    "poseidon.kube.watch_options:ReflectorOptions.page_size": 1000,
    "poseidon.kube.watch_options:ReflectorOptions.read_margin": 15.0,
    "poseidon.kube.watch_options:ReflectorOptions.watch_seconds": (300.0, 600.0),
    "poseidon.kube.watch_options:WatchOptions.reconcile_period": 900.0,
    "poseidon.kube.quarantine:_LONGEST_REASON": 300,
    "poseidon.kube.quarantine:_MOST_REMEMBERED": 100_000,
    "poseidon.kube.quarantine:Attempt.failed": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
