"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.simulate.workloads.azure_llm:CONTEXT_RATE": 4000.0,
    "poseidon.simulate.workloads.azure_llm:GENERATED_RATE": 40.0,
    "poseidon.simulate.workloads.clusters:Job.priority": 0,
    "poseidon.simulate.workloads.columns:ALONE": -1,
    "poseidon.simulate.workloads.generator:DAY": 86400.0,
    "poseidon.simulate.workloads.generator:MOST_TASKS": 10_000_000,
    "poseidon.simulate.workloads.kueue_creations:NODE_REQUESTS": 5,
    "poseidon.simulate.workloads.swf:FIELDS": 18,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
