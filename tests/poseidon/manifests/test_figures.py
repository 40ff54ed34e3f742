"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.manifests.assumed_nodes:_MOST": 100_000,
    "poseidon.manifests.documents:Document.held": False,
    "poseidon.manifests.documents:Document.template": False,
    "poseidon.manifests.documents:GivenObject.held": False,
    "poseidon.manifests.documents:_NAMED": 5,
    "poseidon.manifests.kustomize:_SECONDS": 120,
    "poseidon.manifests.loader:Manifests.is_live": False,
    "poseidon.manifests.validation:MAX_PODS": 1_000_000,
    "poseidon.manifests.workloads.argo:_DEPTH": 30,
    "poseidon.manifests.workloads.common.pod_sets:PodSet.alone": False,
    "poseidon.manifests.workloads.common.pod_sets:PodSet.first_index": 0,
    "poseidon.manifests.workloads.common.pod_sets:PodSet.once": False,
    "poseidon.manifests.workloads.spark:_LEAST_OVERHEAD": 384,
    "poseidon.manifests.yaml_text:MOST_LEVELS": 1000,
    "poseidon.manifests.yaml_text:_MOST_BRACKETS": 200,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
