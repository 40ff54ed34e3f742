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
    "poseidon.kube.parsing.defects:LONGEST_FIELD": 300,
    "poseidon.kube.parsing.defects:LONGEST_PROBLEM": 500,
    "poseidon.kube.parsing.label_syntax:_LONGEST_PREFIX": 253,
    "poseidon.kube.parsing.label_syntax:_LONGEST_WORD": 63,
    "poseidon.kube.parsing.quantities:_BINARY": {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60},
    "poseidon.kube.parsing.quantities:_DECIMAL": {
        "n": -9,
        "u": -6,
        "m": -3,
        "": 0,
        "k": 3,
        "M": 6,
        "G": 9,
        "T": 12,
        "P": 15,
        "E": 18,
    },
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
