"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.server.rounds.failing_classes:MOST_TRIALS": 100,
    "firmament.server.rounds.round_history:INTEREST_SECONDS": 60.0,
    "firmament.server.rounds.round_history:MOST_ROUNDS": 200,
    "firmament.server.rounds.round_history:SMALL": 1_000_000,
    "firmament.server.rounds.round_saver:CLOSE_SECONDS": 3.0,
    "firmament.server.rounds.round_saver:ROUNDS_KEPT": 100,
    "firmament.server.rounds.round_saver:WAITING_ROUNDS": 4,
    "firmament.server.rounds.round_traces:_NANO": 1_000_000_000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
