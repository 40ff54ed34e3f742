"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.api.calls:audit.local_data_may_go": False,
    "poseidon.api.calls:audit.move_cost": 20.0,
    "poseidon.api.calls:audit.strict": False,
    "poseidon.api.calls:audit.tries": 500,
    "poseidon.api.calls:explain.strict": False,
    "poseidon.api.calls:plan.strict": False,
    "poseidon.api.display:_HEIGHT": 620,
    "poseidon.api.models:UseModel.weight": 1,
    "poseidon.api.reading:_DEEPEST_LIST": 50,
    "poseidon.api.reading:read.strict": False,
    "poseidon.api.reading:read_given.strict": False,
    "poseidon.api.calls:HOT": {"cpu": 80.0, "memory": 90.0},
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
