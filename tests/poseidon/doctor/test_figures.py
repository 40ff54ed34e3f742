"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.doctor.cluster_checks:MOST_SKEW": 5.0,
    "poseidon.doctor.cluster_checks:_PROMETHEUS_SECONDS": 5.0,
    "poseidon.doctor.connection_checks:OLDEST_MINOR": 30,
    "poseidon.doctor.connection_checks:_AT_A_TIME": 8,
    "poseidon.doctor.connection_checks:_SOLVER_SECONDS": 5.0,
    "poseidon.doctor.connection_checks:_Status.allowed": False,
    "poseidon.doctor.rights:Wanted.needed": True,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
