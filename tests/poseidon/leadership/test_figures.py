"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.leadership.election:_AHEAD_MS": 3_600_000,
    "poseidon.leadership.election:_RELEASED_SECONDS": 1,
    "poseidon.leadership.election:_RETRY_AT_ONCE": 0.1,
    "poseidon.leadership.elector:_PATIENCE": 2.0,
    "poseidon.leadership.options:JITTER": 1.2,
    "poseidon.leadership.options:LONGEST_LEASE": 120.0,
    "poseidon.leadership.options:LONGEST_MULTIPLE": 4.0,
    "poseidon.leadership.options:LeaderElectionOptions.leader_elect": False,
    "poseidon.leadership.options:LeaderElectionOptions.lease_duration": 15.0,
    "poseidon.leadership.options:LeaderElectionOptions.renew_deadline": 10.0,
    "poseidon.leadership.options:LeaderElectionOptions.retry_period": 2.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
