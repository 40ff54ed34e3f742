"""The simulated volume controllers."""

from __future__ import annotations

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.operations import MERGE_PATCH, Operations
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.node_rules import SELECTED_NODE
from poseidon.testbed.controllers.volumes import PROVISIONING, Provisioning, VolumeSimulation
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.resources import PODS, ResourceType
from poseidon.testbed.objects.store import decode
from poseidon.testbed.seeding import NodeShape, node
from tests.support.cluster import pod
from tests.support.storage import HOSTNAME, ZONE, claim, storage_class, using, volume


@pytest.fixture
def create(operations: Operations):
    def created(*objects):
        for obj in objects:
            create_object(operations, obj)

    created(
        node("n1", NodeShape(), zone="a"),
        node("n2", NodeShape(), zone="b"),
        storage_class(),
        storage_class("now", waits=False),
        storage_class("local", provisioner="kubernetes.io/no-provisioner"),
    )
    return created


def resource_of(operations: Operations, kind: str) -> ResourceType:
    found = operations.registry.of_kind("v1", kind)
    assert found is not None
    return found


def found(operations: Operations, kind: str, name: str):
    resource = resource_of(operations, kind)
    return decode(operations.get(resource, "default" if resource.namespaced else "", name))


def select(operations: Operations, name: str, chosen: str) -> None:
    resource = resource_of(operations, "PersistentVolumeClaim")
    body = {"metadata": {"annotations": {SELECTED_NODE: chosen}}}
    operations.patch(resource, "default", name, MERGE_PATCH, body)


def of(operations: Operations, name: str) -> tuple[str, str]:
    """Phase and volume of a claim."""
    obj = found(operations, "PersistentVolumeClaim", name)
    return obj["status"]["phase"], obj["spec"].get("volumeName", "")


def test_a_waiting_claim_is_provisioned_for_the_selected_node(operations, create):
    volumes = VolumeSimulation(operations.store, delay=5.0)
    create(claim("c"))
    assert volumes.advance(0.0) is None
    assert of(operations, "c") == ("Pending", "")
    select(operations, "c", "n2")
    assert volumes.advance(1.0) == 6.0
    assert volumes.advance(6.0) in (6.0, None)
    phase, name = of(operations, "c")
    assert phase == "Bound"
    made = found(operations, "PersistentVolume", name)
    assert made["status"]["phase"] == "Bound"
    [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": ZONE, "operator": "In", "values": ["b"]}]


def test_an_immediate_claim_needs_no_node(operations, create):
    create(claim("c", storage_class="now"))
    VolumeSimulation(operations.store).advance(0.0)
    assert of(operations, "c")[0] == "Bound"


def test_an_immediate_claim_takes_the_smallest_volume_that_fits(operations, create):
    create(
        volume("large", storage_class="now", size="9Gi"),
        volume("fits", storage_class="now", size="2Gi"),
        volume("small", storage_class="now", size="1Mi"),
        volume("other", storage_class="other", size="1Gi"),
        claim("c", storage_class="now"),
    )
    VolumeSimulation(operations.store).advance(0.0)
    assert of(operations, "c") == ("Bound", "fits")


def test_a_volume_that_is_given_to_a_claim_is_bound_to_it(operations, create):
    volumes = VolumeSimulation(operations.store)
    create(claim("c", storage_class="local"), volume("disk", storage_class="local", at=(HOSTNAME, ["n1"])))
    volumes.advance(0.0)
    assert of(operations, "c") == ("Pending", "")
    resource = resource_of(operations, "PersistentVolume")
    uid = found(operations, "PersistentVolumeClaim", "c")["metadata"]["uid"]
    body = {"spec": {"claimRef": {"namespace": "default", "name": "c", "uid": uid}}}
    operations.patch(resource, "", "disk", MERGE_PATCH, body)
    volumes.advance(1.0)
    assert of(operations, "c") == ("Bound", "disk")


def test_a_provisioner_may_take_the_choice_back_or_do_nothing(operations, create):
    answers = {"n1": Provisioning.REFUSE, "n2": Provisioning.HANG}
    volumes = VolumeSimulation(operations.store, provisioner=lambda _, chosen: answers[chosen])
    create(claim("c"))
    select(operations, "c", "n1")
    volumes.advance(0.0)
    volumes.advance(0.0)
    assert SELECTED_NODE not in found(operations, "PersistentVolumeClaim", "c")["metadata"]["annotations"]
    select(operations, "c", "n2")
    for second in range(3):
        volumes.advance(second)
    assert of(operations, "c") == ("Pending", "")


def test_the_annotation_says_what_happens(operations, create):
    volumes = VolumeSimulation(operations.store)
    create(claim("c", annotations={PROVISIONING: "refuse"}))
    select(operations, "c", "n1")
    volumes.advance(0.0)
    assert SELECTED_NODE not in found(operations, "PersistentVolumeClaim", "c")["metadata"]["annotations"]


@pytest.mark.parametrize(("name", "phase"), [("disk", "Released"), ("made", None)])
def test_a_volume_is_released_or_deleted_with_its_claim(operations, create, name, phase):
    volumes = VolumeSimulation(operations.store)
    kept = volume("disk", storage_class="now")
    kept["spec"]["persistentVolumeReclaimPolicy"] = "Retain"
    create(*([kept] if name == "disk" else []), claim("c", storage_class="now"))
    volumes.advance(0.0)
    bound_to = of(operations, "c")[1]
    resource = resource_of(operations, "PersistentVolumeClaim")
    operations.delete(resource, "default", "c")
    volumes.advance(1.0)
    left = operations.store.collection("persistentvolumes").get(bound_to)
    assert (decode(left)["status"]["phase"] if left else None) == phase


def test_a_pod_starts_once_its_volumes_can_be_mounted(operations, create):
    kubelets, volumes = KubeletSimulation(operations.store), VolumeSimulation(operations.store)
    create(claim("c"), pod("p", volumes=using("c")))
    bind(operations.store, "default", "p", decode_binding(b'{"target":{"name":"n1"}}'))
    due = kubelets.advance(0.0)
    assert due
    assert decode(operations.get(PODS, "default", "p"))["status"]["phase"] == "Pending"
    select(operations, "c", "n1")
    volumes.advance(0.0)
    volumes.advance(0.0)
    kubelets.advance(due)
    assert decode(operations.get(PODS, "default", "p"))["status"]["phase"] == "Running"
