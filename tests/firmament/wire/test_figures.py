"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.wire.checks:LATEST": 253402300799.0,
    "firmament.wire.checks:LONGEST_NAME": 1024,
    "firmament.wire.checks:_LONGEST_FAULT": 500,
    "firmament.wire.class_rules:decode_task_term.weighted": False,
    "firmament.wire.rounds:EncodedRound.put_off": 0,
    "firmament.wire.rounds:_LONGEST": 127,
    "firmament.wire.rounds:_PACK": 2000,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
