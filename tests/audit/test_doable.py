"""Cures that cannot be carried out are not told."""

from __future__ import annotations

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_rules import LabelSelector, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from poseidon.kube.api.pods import ClaimSource, Pod, PodSpec, PodVolume
from poseidon.kube.api.storage import (
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeSpec,
    StorageClass,
    TopologySelectorRequirement,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from poseidon.offline.audit.doable import doable
from poseidon.offline.audit.findings import Cure, CureStep

ZONE = "topology.kubernetes.io/zone"


def cure(kind, subject, after):
    return Cure("a/p", "n", kind, "", (CureStep(kind, subject, "n", None, after),), ())


def pod(**spec):
    return Pod(metadata=ObjectMeta(name="p", namespace="a"), spec=PodSpec(**spec))


WITH_CLAIM = pod(volumes=(PodVolume(name="v", persistent_volume_claim=ClaimSource(claim_name="c")),))
TERM = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(ZONE, "In", ("a",)),))
STORAGE = [
    PersistentVolume(spec=PersistentVolumeSpec(node_affinity=VolumeNodeAffinity(NodeSelector((TERM,))))),
    StorageClass(allowed_topologies=(TopologySelectorTerm((TopologySelectorRequirement(ZONE, ("a",)),)),)),
    CsiStorageCapacity(node_topology=LabelSelector({ZONE: "a"})),
]


@pytest.mark.parametrize("storage", STORAGE)
def test_labels_that_volumes_hang_on_stay_for_pods_with_claims(storage):
    label = cure("label-node", ZONE, "a")
    assert doable([label], {"a/p": WITH_CLAIM}, [storage]) == ()
    assert doable([label], {"a/p": WITH_CLAIM}, []) == (label,)
    assert doable([label], {"a/p": pod()}, [storage]) == (label,)
    other = cure("label-node", "disk", "ssd")
    assert doable([other], {"a/p": WITH_CLAIM}, [storage]) == (other,)


def test_labels_of_the_kubelet_stay():
    assert doable([cure("label-node", "kubernetes.io/hostname", "x")], {"a/p": pod()}, []) == ()


@pytest.mark.parametrize(("after", "told"), [(100, False), (150, False), (151, True)])
def test_no_request_is_lowered_below_the_overhead(after, told):
    lower = cure("lower-request", "cpu", after)
    found = doable([lower], {"a/p": pod(overhead={"cpu": "150m"})}, [])
    assert found == ((lower,) if told else ())
    assert doable([lower], {"a/p": pod(overhead={"memory": "1Gi"})}, []) == (lower,)
