"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.metrics_sources.all_sources:FIRST_LOOK_SECONDS": 10.0,
    "poseidon.metrics_sources.all_sources:GATHER_SECONDS": 0.25,
    "poseidon.metrics_sources.amounts:_LARGEST_DURATION": 9223372036.854776,
    "poseidon.metrics_sources.amounts:_LONGEST_DURATION": 100,
    "poseidon.metrics_sources.amounts:_NANO": 1_000_000,
    "poseidon.metrics_sources.intake:_MOST_OBJECTS": 100_000,
    "poseidon.metrics_sources.koordinator:DEFAULT_INTERVAL": 60.0,
    "poseidon.metrics_sources.koordinator:FUTURE_TOLERANCE": 60.0,
    "poseidon.metrics_sources.metrics_server:_PAUSE_EVERY": 500,
    "poseidon.metrics_sources.options:MetricsServerOptions.interval": 30.0,
    "poseidon.metrics_sources.options:MetricsServerOptions.pods": True,
    "poseidon.metrics_sources.options:PrometheusOptions.interval": 30.0,
    "poseidon.metrics_sources.options:PrometheusOptions.timeout": 10.0,
    "poseidon.metrics_sources.polling:PollerOptions.absent_seconds": 60.0,
    "poseidon.metrics_sources.polling:PollerOptions.backoff_cap": 60.0,
    "poseidon.metrics_sources.polling:PollerOptions.backoff_initial": 1.0,
    "poseidon.metrics_sources.readings:NodeReading.aggregates": False,
    "poseidon.metrics_sources.samples:MISSED_REPORTS": 3,
    "poseidon.metrics_sources.amounts:_UNIT_SECONDS": {
        "ns": 1e-09,
        "us": 1e-06,
        "µs": 1e-06,
        "μs": 1e-06,
        "ms": 0.001,
        "s": 1.0,
        "m": 60.0,
        "h": 3600.0,
    },
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
