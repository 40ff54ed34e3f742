"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.embedding:_NO_LIMIT": 1_152_921_504_606_846_976,
    "poseidon.embedding:_TRIAL_CHECKS": 400_000_000,
    "poseidon.explanation_tables:_MOST_TEXTS": 10,
    "poseidon.explanation_tables:_UNWRAPPED": 10_000,
    "poseidon.explanation_tables:print_explanation.most": 0,
    "poseidon.explanations:Verdict.lacks_only_room": False,
    "poseidon.embedding:EmbeddedScheduler.__init__.simulated": False,
    "poseidon.embedding:EmbeddedScheduler.run_round.whole": True,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
