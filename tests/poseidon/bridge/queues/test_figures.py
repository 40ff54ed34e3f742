"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.bridge.queues.queue_metrics:MOST_QUEUES": 500,
    "poseidon.bridge.queues.queue_metrics:REFRESH_SECONDS": 10.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
