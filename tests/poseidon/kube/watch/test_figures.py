"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.kube.watch.delivery:_FEW": 4,
    "poseidon.kube.watch.namespace_turns:LONG": 0.004,
    "poseidon.kube.watch.namespace_turns:MOST_BYTES": 67_108_864,
    "poseidon.kube.watch.namespace_turns:PAUSE": 2,
    "poseidon.kube.watch.namespace_turns:RECENT": 0.25,
    "poseidon.kube.watch.namespace_turns:_FORGOTTEN": 0.25,
    "poseidon.kube.watch.namespace_turns:_NAMESPACES_SERVED": 16,
    "poseidon.kube.watch.namespace_turns:_SLICE": 0.01,
    "poseidon.kube.watch.reconciliation:_MOST_NAMED": 5,
    "poseidon.kube.watch.delivery:Delivery.__init__.in_turn": False,
    "poseidon.kube.watch.delivery:Delivery.deliver.size": 0,
    "poseidon.kube.watch.namespace_turns:NamespaceTurns.take.size": 0,
    "poseidon.kube.watch.namespace_turns:_FIRST": 4,
    "poseidon.kube.watch.namespace_turns:_LARGEST": 256,
    "poseidon.kube.watch.reflector:Reflector.__init__.in_turn": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
