"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.offline.audit.costs:_POINTS": 20,
    "poseidon.offline.audit.costs:_SHOWN": 20,
    "poseidon.offline.audit.cures:_MOST": 5,
    "poseidon.offline.audit.cures:_TRIES": 40,
    "poseidon.offline.audit.findings:Cure.together": 0,
    "poseidon.offline.audit.findings:format_quantity.down": False,
    "poseidon.offline.audit.make_audit:_TRIES": 40,
    "poseidon.offline.audit.make_audit:make_audit.local_data_may_go": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
