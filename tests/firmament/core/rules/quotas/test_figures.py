"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.rules.quotas.stated_quotas:MOST_DRAWS": 100_000,
    "firmament.core.rules.quotas.compilation:build_terms.without": -1,
    "firmament.core.rules.quotas.compilation:compile_quotas.without": -1,
    "firmament.core.rules.quotas.records:MOST_DEEP": 32,
    "firmament.core.rules.quotas.records:MOST_NAMES": 256,
    "firmament.core.rules.quotas.records:QuotaPreemption.beyond_quota": True,
    "firmament.core.rules.quotas.records:StatedQuota.evicts_before_borrowing": False,
    "firmament.core.rules.quotas.records:StatedQuota.evicts_first": False,
    "firmament.core.rules.quotas.records:StatedQuota.fair": False,
    "firmament.core.rules.quotas.records:StatedQuota.reclaimable": True,
    "firmament.core.rules.quotas.records:StatedQuota.same_flavor": False,
    "firmament.core.rules.quotas.records:StatedQuota.sparing": False,
    "firmament.core.rules.quotas.records:StatedQuota.strict": False,
    "firmament.core.rules.quotas.records:StatedQuota.uncovered": False,
    "firmament.core.rules.quotas.records:StatedQuota.weight": 1.0,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
