"""Changes as they are made to objects; those that cannot be made are none."""

from __future__ import annotations

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_rules import (
    Affinity,
    LabelSelector,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from poseidon.kube.api.pods import ClaimSource, Pod, PodSpec, PodVolume, SchedulingGroup
from poseidon.kube.api.storage import (
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeSpec,
    StorageClass,
    TopologySelectorRequirement,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from poseidon.manifests.loader import Manifests
from poseidon.offline.audit.findings import CureStep
from poseidon.offline.audit.object_changes import Objects
from poseidon.pod_rules.pod_affinity import parse_required_terms

ZONE = "topology.kubernetes.io/zone"


def step(kind, subject, after=None, before=None):
    return CureStep(kind, subject, "n", before, after)


def pod(**spec):
    return Pod(metadata=ObjectMeta(name="p", namespace="a", uid="a/p"), spec=PodSpec(**spec))


WITH_CLAIM = pod(volumes=(PodVolume(name="v", persistent_volume_claim=ClaimSource(claim_name="c")),))
TERM = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(ZONE, "In", ("a",)),))
STORAGE = [
    PersistentVolume(spec=PersistentVolumeSpec(node_affinity=VolumeNodeAffinity(NodeSelector((TERM,))))),
    StorageClass(allowed_topologies=(TopologySelectorTerm((TopologySelectorRequirement(ZONE, ("a",)),)),)),
    CsiStorageCapacity(node_topology=LabelSelector({ZONE: "a"})),
]


def changes(pod, *steps, storage=()):
    nothing = ((),) * 4
    return Objects(Manifests((), (), (pod,), *nothing[:2], storage=tuple(storage))).changes("a/p", steps)


@pytest.mark.parametrize("storage", STORAGE)
def test_labels_that_volumes_hang_on_stay_for_pods_with_claims(storage):
    label, other = step("label-node", ZONE, "a"), step("label-node", "disk", "ssd")
    assert changes(WITH_CLAIM, label, storage=[storage]) is None
    assert changes(WITH_CLAIM, label) == (label,)
    assert changes(pod(), label, storage=[storage]) == (label,)
    assert changes(WITH_CLAIM, other, storage=[storage]) == (other,)


def test_labels_of_the_kubelet_stay():
    assert (
        changes(pod(), step("uncordon-node", ""), step("label-node", "kubernetes.io/hostname", "x")) is None
    )


@pytest.mark.parametrize(("after", "told"), [(100, False), (150, False), (151, True)])
def test_no_request_is_lowered_below_the_overhead(after, told):
    lower = step("lower-request", "cpu", after)
    assert changes(pod(overhead={"cpu": "150m"}), lower) == ((lower,) if told else None)
    assert changes(pod(overhead={"memory": "1Gi"}), lower) == (lower,)


def test_rules_are_numbered_as_the_pod_has_them():
    terms = [PodAffinityTerm(topology_key=key, label_selector=LabelSelector({"app": key})) for key in "cabdb"]
    rules = PodAffinity(required=tuple(terms))
    spread = (TopologySpreadConstraint(topology_key="x"), TopologySpreadConstraint(topology_key="y"))
    given = pod(affinity=Affinity(pod_anti_affinity=rules), topology_spread_constraints=spread)
    ordered = [each.topology_key for each in parse_required_terms(rules, "", given.metadata, [])]
    for place, key in enumerate(ordered):
        (found,) = changes(given, step("drop-constraint", f"required podAntiAffinity by {key}", before=place))
        assert found.before == "cabd".index(key)
    # Once one is gone, those behind it move up in rounds; they are told as they were.
    first = step("drop-constraint", f"required podAntiAffinity by {ordered[0]}", before=0)
    second = step("drop-constraint", f"required podAntiAffinity by {ordered[1]}", before=0)
    third = step("drop-constraint", "topologySpreadConstraint by x", before=0)
    last = step("drop-constraint", "topologySpreadConstraint by y", before=0)
    found = changes(given, first, second, third, last)
    assert [each.before for each in found] == ["cabd".index(key) for key in ordered[:2]] + [0, 1]
    assert changes(given, step("drop-constraint", "required podAntiAffinity by a", before=4)) is None


def test_rules_behind_the_pods_own_are_those_of_its_group():
    wider = step("widen-rule", "required podAffinity by rack", "zone", before=0)
    assert changes(pod(), wider) is None
    (found,) = changes(pod(scheduling_group=SchedulingGroup("g")), wider)
    assert (found.subject, found.before) == ("topology constraint of PodGroup a/g by rack", None)
