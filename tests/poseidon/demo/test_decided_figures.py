"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.demo.progress:_LINE_SECONDS": 2.0,
    "poseidon.demo.run:DemoOptions.page": False,
    "poseidon.demo.run:DemoOptions.timeout": 300.0,
    "poseidon.demo.run:_PAGE_PORT": 8088,
    "poseidon.demo.run:_POLL_SECONDS": 0.05,
    "poseidon.demo.seeding:_BATCH": 250,
    "poseidon.demo.show:BEAT": 3.0,
    "poseidon.demo.show:_DRAINED_BEATS": 4,
    "poseidon.demo.show_objects:GPUS_PER_NODE": 4,
    "poseidon.demo.show_objects:_EVERY": 50,
    "poseidon.demo.solver_client:_POLL_SECONDS": 0.05,
    "poseidon.demo.solver_client:_TIMEOUT_SECONDS": 10.0,
    "poseidon.demo.verification:_PAGE": 1000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
