"""Pods as the API server shows them: when they have ended, their conditions, claims and disks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from poseidon.kube.api.pods import Pod, PodClaim, attachable_of, claims_of


def pod(*volumes: dict[str, Any], namespace: str = "shop", **status: Any) -> Pod:
    metadata = {"name": "web", "namespace": namespace}
    return msgspec.convert({"metadata": metadata, "spec": {"volumes": volumes}, "status": status}, Pod)


@pytest.mark.parametrize(
    ("phase", "ended"),
    [("Succeeded", True), ("Failed", True), ("Running", False), ("Pending", False), ("", False)],
)
def test_a_pod_has_ended_whether_or_not_it_succeeded(phase, ended):
    assert pod(phase=phase).terminal is ended


def test_a_condition_is_found_by_its_type():
    found = pod(conditions=[{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}])
    condition = found.condition("Ready")
    assert condition is not None
    assert condition.status == "True"
    assert found.condition("PodScheduled") is None


def test_claims_are_those_of_volumes_each_once_in_their_order():
    found = pod(
        {"name": "b", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "a", "persistentVolumeClaim": {"claimName": "logs"}},
        {"name": "again", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "disk", "awsElasticBlockStore": {"volumeID": "vol-1"}},
    )
    expected = (
        PodClaim("shop/data"),
        PodClaim("shop/web-scratch", ephemeral=True),
        PodClaim("shop/logs"),
    )
    assert claims_of(found) == expected
    assert attachable_of(found) == (*expected, PodClaim("aws_elastic_block_store^vol-1", disk=True))
    assert expected[1].name == "web-scratch"


def test_a_pod_without_a_namespace_is_in_the_default_one():
    assert claims_of(pod({"name": "d", "persistentVolumeClaim": {"claimName": "data"}}, namespace="")) == (
        PodClaim("default/data"),
    )
    assert attachable_of(pod()) == ()


@pytest.mark.parametrize(
    ("source", "key"),
    [
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            "gce_persistent_disk^projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
        ),
        ({"gcePersistentDisk": {}}, ""),
        ({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}, "aws_elastic_block_store^vol-1"),
        ({"azureDisk": {"diskURI": "/sub/d"}}, "azure_disk^/sub/d"),
        ({"cinder": {"volumeID": "c"}}, "cinder^c"),
        ({"vsphereVolume": {"volumePath": "[store] d"}}, "vsphere_volume^[store] d"),
        ({"portworxVolume": {"volumeID": "p"}}, "portworx_volume^p"),
        ({"hostPath": {"path": "/x"}}, ""),
        ({"rbd": {"image": "i"}}, ""),
    ],
)
def test_disks_without_a_claim_have_the_names_of_their_drivers(source, key):
    found = attachable_of(pod({"name": "d", **source}))
    assert found == ((PodClaim(key, disk=True),) if key else ())
    assert claims_of(pod({"name": "d", **source})) == ()
