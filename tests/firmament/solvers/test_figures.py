"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.solvers.process_solver:_KEPT_READY": 2,
    "firmament.solvers.shared_region:_SMALLEST": 1_048_576,
    "firmament.solvers.worker:READY": 0,
    "firmament.solvers.worker:REFUSED": 2,
    "firmament.solvers.worker:SOLVED": 1,
    "firmament.solvers.worker_handle:START_SECONDS": 60.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
