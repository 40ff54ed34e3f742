"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.simulate.engine:BEGIN": 1767225600.0,
    "poseidon.simulate.engine:Simulation.arrived": 0,
    "poseidon.simulate.engine:_MOST_ROUNDS": 20,
    "poseidon.simulate.expected_starts:HORIZON": 604800.0,
    "poseidon.simulate.forecasts.forecast:DRAWS": 20,
    "poseidon.simulate.forecasts.forecast:MOST_WORK": 10_000_000,
    "poseidon.simulate.forecasts.sparse_rounds:ROUNDS_PER_DOUBLING": 8,
    "poseidon.simulate.forecasts.forecast:ROUND_WORK": 1000,
    "poseidon.simulate.forecasts.learning_from_pods:MOST_OTHERS": 300,
    "poseidon.simulate.forecasts.learning_from_pods:OTHERS": 3.0,
    "poseidon.simulate.forecasts.learning_from_pods:_TOGETHER": 60.0,
    "poseidon.simulate.forecasts.past_arrivals:LEAST_WINDOW": 600.0,
    "poseidon.simulate.forecasts.past_arrivals:MOST_TASKS": 20_000,
    "poseidon.simulate.forecasts.past_arrivals:MOST_WINDOW": 21600.0,
    "poseidon.simulate.forecasts.past_arrivals:PastTask.ganged": False,
    "poseidon.simulate.presentation:HOUR": 3600.0,
    "poseidon.simulate.forecasts.run_time_statistics:LONGER": 0.5,
    "poseidon.simulate.forecasts.run_time_statistics:TAIL": 0.5,
    "poseidon.simulate.scenario.document:Autoscaling.delay": 180.0,
    "poseidon.simulate.scenario.document:Autoscaling.every": 30.0,
    "poseidon.simulate.scenario.document:Autoscaling.idle": 600.0,
    "poseidon.simulate.scenario.document:Autoscaling.least": 0,
    "poseidon.simulate.scenario.document:CreationLimit.burst": 1,
    "poseidon.simulate.scenario.document:Drain.lasts": 3600.0,
    "poseidon.simulate.scenario.document:Generator.daily": 0.0,
    "poseidon.simulate.scenario.document:Generator.warm": True,
    "poseidon.simulate.scenario.document:MOST_EVENTS": 5_000_000,
    "poseidon.simulate.scenario.document:MOST_SAMPLES": 100_000,
    "poseidon.simulate.scenario.document:NodePool.count": 1,
    "poseidon.simulate.scenario.document:RequestLimit.burst": 1,
    "poseidon.simulate.scenario.document:RequestLimit.per_evicted_gang": 0.0,
    "poseidon.simulate.scenario.document:RequestLimit.per_eviction": 1.0,
    "poseidon.simulate.scenario.document:RequestLimit.per_gang": 0.0,
    "poseidon.simulate.scenario.document:RequestLimit.per_pod": 1.0,
    "poseidon.simulate.scenario.document:RequestLimit.per_refusal": 0.0,
    "poseidon.simulate.scenario.document:Scenario.one_per_queue": False,
    "poseidon.simulate.scenario.document:Scenario.requeue_after": 1.0,
    "poseidon.simulate.scenario.document:Scenario.round_every": 1.0,
    "poseidon.simulate.scenario.document:Scenario.sample_every": 600.0,
    "poseidon.simulate.scenario.document:Scenario.seed": 1,
    "poseidon.simulate.scenario.document:Trace.faster": 1.0,
    "poseidon.simulate.scenario.document:WorkKind.members": 1,
    "poseidon.simulate.scenario.document:WorkKind.share": 1.0,
    "poseidon.simulate.scenario.durations:Durations.sigma": 1.0,
    "poseidon.simulate.scenario.durations:LONGEST": 315360000.0,
    "poseidon.simulate.tasks:NEVER": -1.0,
    "poseidon.simulate.tasks:NOWHERE": -1,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
