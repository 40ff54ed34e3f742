"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rules.devices.cel.conversions:_read_version.normalize": False,
    "firmament.core.rules.devices.cel.limits:MOST_LIST_VALUES": 48,
    "firmament.core.rules.devices.cel.limits:MOST_REPETITIONS": 1000,
    "firmament.core.rules.devices.cel.limits:MOST_STEPS": 2000,
    "firmament.core.rules.devices.cel.limits:MOST_WORK": 100_000,
    "firmament.core.rules.devices.cel.limits:SHARED_LENGTH": 1000,
    "firmament.core.rules.devices.cel.limits:SHARED_WORK": 1_000_000,
    "firmament.core.rules.devices.cel.limits:SHARED_WORK_PER_ROUND": 25_000,
    "firmament.core.rules.devices.cel.limits:WORK_IN_ALL": 500_000,
    "firmament.core.rules.devices.cel.limits:WORK_PER_CHARACTER": 5,
    "firmament.core.rules.devices.cel.limits:WORK_PER_DEVICE": 500,
    "firmament.core.rules.devices.cel.syntax:DEEPEST": 60,
    "firmament.core.rules.devices.cel.syntax:DEEPEST_TREE": 90,
    "firmament.core.rules.devices.cel.syntax:LONGEST": 10_240,
    "firmament.core.rules.devices.cel.syntax:LONGEST_CHAIN": 150,
    "firmament.core.rules.devices.cel.syntax:_MOST_DIGITS": 40,
    "firmament.core.rules.devices.cel.tree:Field.optional": False,
    "firmament.core.rules.devices.cel.tree:Index.optional": False,
    "firmament.core.rules.devices.cel.values:Optional.has_value": False,
    "firmament.core.rules.devices.columns:MOST_KINDS": 64,
    "firmament.core.rules.devices.cures:_LIKE": 2,
    "firmament.core.rules.devices.cures:_MOST_ASKED": 32,
    "firmament.core.rules.devices.cures:_list_counts.least": 2,
    "firmament.core.rules.devices.ledger:ANY": 2_147_483_647,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
