"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.commands.demo:_Run.kept": False,
    "poseidon.commands.demo:_Run.page": False,
    "poseidon.commands.demo:_Run.received": 0,
    "poseidon.commands.plan:STILL_PENDING": 3,
    "poseidon.commands.shadow:_SHOWN": 20,
    "poseidon.commands.shared.offline_input:Source.strict": False,
    "poseidon.commands.shared.offline_input:_YOUNG": 200_000,
    "poseidon.commands.shared.options:move_cost_option.free": True,
    "poseidon.commands.shared.output_and_exit:_LONGEST_WARNING": 1000,
    "poseidon.commands.shared.output_and_exit:fault.status": 2,
    "poseidon.commands.support_bundle:_SOLVER_SECONDS": 30.0,
    "poseidon.commands.top:_MOST_BYTES": 16_777_216,
    "poseidon.commands.top:_PATIENCE": 5.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
