"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.simulate.recorded.replaying:ReplayedDecisions.decisions": 0,
    "poseidon.simulate.recorded.replaying:ReplayedDecisions.partial": 0,
    "poseidon.simulate.recorded.replaying:ReplayedDecisions.refused": 0,
    "poseidon.simulate.recorded.replaying:ReplayedDecisions.rounds": 0,
    "poseidon.simulate.recorded.replaying:ReplayedDecisions.same": 0,
    "poseidon.simulate.recorded.replaying:ReplayedDecisions.streams": 0,
    "poseidon.simulate.recorded.replaying:MOST_DIFFERENCES": 100,
    "poseidon.simulate.recorded.history:RecordedHistory.begin": 0.0,
    "poseidon.simulate.recorded.history:RecordedHistory.horizon": 0.0,
    "poseidon.simulate.recorded.history:RecordedHistory.preempted": 0,
    "poseidon.simulate.recorded.history:RecordedTask.foreign": False,
    "poseidon.simulate.recorded.what_if:_SAMPLES": 200,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
