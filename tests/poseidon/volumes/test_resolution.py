"""Why a pod waits for its claims, in kube-scheduler's words and ours, and when that ends."""

from __future__ import annotations

import pytest

from poseidon.kube.api.pods import PodClaim
from poseidon.volumes.claims import compute_rank
from poseidon.volumes.requirements import in_use_on
from poseidon.volumes.resolution import add_sole_claims
from tests.poseidon.volumes.objects import claim, storage_class, volume
from tests.poseidon.volumes.test_state import Cluster

ODD = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Sometimes"}]}]}}
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


@pytest.mark.parametrize(
    ("claims", "volumes", "reason"),
    [
        ([], [], 'persistentvolumeclaim "c" not found'),
        ([claim("c")], [], ""),
        ([claim("c", storage_class="at-once")], [], IMMEDIATE),
        (
            [claim("c", storage_class="unknown")],
            [],
            f'{IMMEDIATE}: StorageClass "unknown" of persistentvolumeclaim "c" does not exist',
        ),
        (
            [claim("c", storage_class="")],
            [],
            f'{IMMEDIATE}: persistentvolumeclaim "c" names no StorageClass',
        ),
        (
            [claim("c", storage_class="at-once", volumeName="v")],
            [],
            f'{IMMEDIATE}: PersistentVolume "v" that persistentvolumeclaim "c" names does not exist',
        ),
        (
            [claim("c", storage_class="at-once", volumeName="v")],
            [volume("v")],
            f'{IMMEDIATE}: PersistentVolume "v" that persistentvolumeclaim "c" names is not bound to it',
        ),
        ([claim("c", volume="v")], [], 'persistentvolume "v" not found'),
        ([claim("c", volume="v")], [volume("v", to="default/c")], ""),
        (
            [claim("c", volume="v")],
            [volume("v", to="default/c", nodeAffinity=ODD)],
            (
                'persistentvolume "v" is malformed: '
                "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: "
                "unknown operator 'Sometimes'; use In, NotIn, Exists, DoesNotExist, Gt or Lt"
            ),
        ),
    ],
)
def test_what_a_pod_waits_for(claims, volumes, reason):
    cluster = Cluster()
    cluster.storage_classes_changed([storage_class("at-once", waits=False)])
    cluster.volumes_changed(volumes)
    cluster.claims_changed(claims)
    assert cluster.pod("a", "c").reason == reason


@pytest.mark.parametrize(
    ("owner", "reason"),
    [
        ("a", ""),
        ("b", "PVC default/a-data was not created for pod default/a (pod is not owner)"),
        ("", "PVC default/a-data was not created for pod default/a (pod is not owner)"),
    ],
)
def test_an_ephemeral_claim_is_its_pods_own(owner, reason):
    cluster = Cluster()
    asked = (PodClaim("default/a-data", ephemeral=True),)

    def look():
        return cluster.put_pod("a", "default/a", asked, compute_rank(0, 0.0, "a"), "").reason

    assert look() == ('waiting for ephemeral volume controller to create the persistentvolumeclaim "a-data"')
    cluster.claims_changed([claim("a-data", owner=owner)])
    assert look() == reason


def test_those_who_want_a_class_are_told_when_it_comes():
    cluster = Cluster()
    cluster.claims_changed([claim("late", storage_class="late"), claim("c"), claim("bound", volume="v")])
    cluster.volumes_changed([volume("v", to="default/bound")])
    for uid, name in (("a", "late"), ("b", "c"), ("d", "bound")):
        cluster.pod(uid, name)
    cluster.take_affected()
    cluster.storage_classes_changed([storage_class("late")])
    assert cluster.affected() == {"a"}
    assert cluster.resolution("a").reason == ""


def test_a_pod_that_becomes_more_important_goes_before_its_rivals():
    cluster = Cluster()
    cluster.claims_changed([claim("c", modes=("ReadWriteOncePod",))])
    cluster.pod("a", "c")
    cluster.pod("b", "c")
    cluster.take_affected()
    cluster.pod("b", "c", priority=1)
    assert "a" in cluster.affected()
    assert cluster.resolution("a").refused != ""
    assert cluster.resolution("b").refused == ""
    cluster.remove_pod("unknown")
    cluster.remove_pod("b")
    assert cluster.affected() == {"a"}
    assert cluster.resolution("a").refused == ""


def test_a_claim_for_one_pod_binds_to_the_node_of_those_that_may_be_evicted():
    cluster = Cluster()
    found = cluster.pod("a")
    assert add_sole_claims(found, ["d", "c"], "").needs.sole == ("c", "d")
    assert add_sole_claims(found, ["c"], "").needs.rules == ()
    assert add_sole_claims(found, ["c"], "n1").needs.rules == (in_use_on("n1"),)
