"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.bridge.suspended.placeholders:WorkloadAdmission.idle": False,
    "poseidon.bridge.suspended.placeholders:WorkloadAdmission.limits": -1,
    "poseidon.bridge.suspended.placeholders:WorkloadAdmission.overtaken": False,
    "poseidon.bridge.suspended.placeholders:WorkloadAdmission.pause": 0.0,
    "poseidon.bridge.suspended.placeholders:WorkloadAdmission.written": -1,
    "poseidon.bridge.suspended.resumptions:HELD_SECONDS": 300.0,
    "poseidon.bridge.suspended.resumptions:EXPLAIN_AFTER_SECONDS": 30.0,
    "poseidon.bridge.suspended.resumptions:_ANSWER_SECONDS": 10.0,
    "poseidon.bridge.suspended.resumptions:_FIRST_PAUSE": 60.0,
    "poseidon.bridge.suspended.resumptions:_LONGEST_PAUSE": 3600.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
