"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.configuration.document:RoundSection.batching_window": 0.02,
    "firmament.configuration.document:RoundSection.refresh_reasons_after": 60.0,
    "firmament.configuration.sections:FairShareSection.enabled": False,
    "firmament.configuration.sections:LimitSection.clusters": 32,
    "firmament.configuration.sections:LimitSection.hello_timeout": 10.0,
    "firmament.configuration.sections:LimitSection.message_bytes": 33_554_432,
    "firmament.configuration.sections:LimitSection.questions": 16,
    "firmament.configuration.sections:LimitSection.streams": 32,
    "firmament.configuration.sections:ScarceResourceSection.points": 15,
    "firmament.configuration.sections:_MIB": 1_048_576,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
