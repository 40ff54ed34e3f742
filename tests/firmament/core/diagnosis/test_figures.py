"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.diagnosis.contention:NAMED": 2,
    "firmament.core.diagnosis.contention:_CHECKS": 1000,
    "firmament.core.diagnosis.contention:_MACHINES": 4,
    "firmament.core.diagnosis.contention:_PAIRED_KINDS": 12,
    "firmament.core.diagnosis.gang_constraints:MOST_CELLS": 4_000_000,
    "firmament.core.diagnosis.gang_constraints:_PLENTY": 1_099_511_627_776,
    "firmament.core.diagnosis.pending_reasons:MOST_KINDS": 100,
    "firmament.core.diagnosis.preemption_reasons:MOST_NAMED": 3,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
