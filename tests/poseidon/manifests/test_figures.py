"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.manifests.alternatives:one_of_each.strict": False,
    "poseidon.manifests.assumed_nodes:_MOST": 100_000,
    "poseidon.manifests.assumed_nodes:make_nodes.first": 1,
    "poseidon.manifests.documents:Document.held": False,
    "poseidon.manifests.documents:Document.template": False,
    "poseidon.manifests.documents:GivenObject.held": False,
    "poseidon.manifests.documents:_Fault.foreign": False,
    "poseidon.manifests.documents:_NAMED": 5,
    "poseidon.manifests.documents:_objects.held": False,
    "poseidon.manifests.kustomize:_SECONDS": 120,
    "poseidon.manifests.loader:Manifests.is_live": False,
    "poseidon.manifests.loader:load_manifests.strict": False,
    "poseidon.manifests.validation:MAX_PODS": 1_000_000,
    "poseidon.manifests.warning_phrases:list_names.most": 3,
    "poseidon.manifests.warning_phrases:suggest_printing.namespaced": True,
    "poseidon.manifests.workloads.argo:_DEPTH": 30,
    "poseidon.manifests.workloads.common.pod_sets:PodSet.alone": False,
    "poseidon.manifests.workloads.common.pod_sets:PodSet.first_index": 0,
    "poseidon.manifests.workloads.common.pod_sets:PodSet.once": False,
    "poseidon.manifests.workloads.common.pod_sets:number_names.first": 0,
    "poseidon.manifests.workloads.exclusive_topology:add_affinities.all_namespaces": False,
    "poseidon.manifests.workloads.exclusive_topology:give_own_domain.all_namespaces": False,
    "poseidon.manifests.workloads.spark:_LEAST_OVERHEAD": 384,
    "poseidon.manifests.yaml_text:MOST_LEVELS": 1000,
    "poseidon.manifests.yaml_text:_MOST_BRACKETS": 200,
    "poseidon.manifests.workloads.spark:_MEBIBYTES": {
        "": 1,
        "k": 0.0009765625,
        "m": 1,
        "g": 1024,
        "t": 1048576,
        "p": 1073741824,
    },
    "poseidon.manifests.yaml_text:_ManifestLoader.construct_mapping.deep": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
