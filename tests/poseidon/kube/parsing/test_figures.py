"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.kube.parsing.defects:MOST_LISTED": 20,
    "poseidon.kube.parsing.defects:shorten.most": 80,
    "poseidon.kube.parsing.quantities:MAX_AMOUNT": 9_007_199_254_740_992,
    "poseidon.kube.parsing.quantities:_MAX_LENGTH": 64,
    "poseidon.kube.parsing.quantities:_MAX_POWER": 100,
    "poseidon.kube.parsing.quantities:_scale.down": False,
    "poseidon.kube.parsing.quantities:amount.down": False,
    "poseidon.kube.parsing.readable:MAX_DEPTH": 100,
    "poseidon.kube.parsing.readable:_LONE_LENGTH": 6,
    "poseidon.kube.parsing.readable:_LONG": 4,
    "poseidon.kube.parsing.strict_json:MAX_DEPTH": 64,
    "poseidon.kube.parsing.strict_json:MAX_DIGITS": 400,
    "poseidon.kube.parsing.strict_json:MAX_LENGTH": 1_048_576,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
