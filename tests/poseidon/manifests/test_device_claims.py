"""Claims of devices as their controller makes them: one for each pod and template, shared within PodGroups."""

from __future__ import annotations

from typing import Any

import msgspec

from poseidon.kube.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate
from poseidon.kube.api.pod_groups import NativePodGroup
from poseidon.kube.api.pods import Pod
from poseidon.manifests.controllers.device_claims import play_claim_controller

SPEC = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


def template(name: str = "t", namespace: str = "shop") -> ResourceClaimTemplate:
    metadata = {"labels": {"app": "web"}, "annotations": {"note": "x"}}
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"metadata": metadata, "spec": SPEC}},
        ResourceClaimTemplate,
    )


def claim(name: str, **status: Any) -> ResourceClaim:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "77", "controller": True}]
    metadata = {"name": name, "namespace": "shop", "uid": "1", "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata, "spec": SPEC, "status": status}, ResourceClaim)


def pod(name: str, *claims: dict[str, str], group: str = "", status: Any = None, **metadata: Any) -> Pod:
    spec: dict[str, Any] = {"resourceClaims": list(claims), "containers": [{"name": "c"}]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if node := metadata.pop("node", ""):
        spec["nodeName"] = node
    given = {"name": name, "namespace": "shop", "uid": f"shop/{name}", **metadata}
    return msgspec.convert({"metadata": given, "spec": spec, "status": status or {}}, Pod)


BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


def play(
    objects: Any, *pods: Pod, groups: Any = ()
) -> tuple[dict[str, ResourceClaim], dict[str, dict[str, str]]]:
    """Return claims by name, and the claims that each pod's status names."""
    found, served = play_claim_controller(objects, pods, groups)
    claims = {each.metadata.name: each for each in found if isinstance(each, ResourceClaim)}
    named = {
        each.metadata.name: {
            status.name: status.resource_claim_name or "" for status in each.status.resource_claim_statuses
        }
        for each in served
    }
    return claims, named


def test_a_claim_is_made_for_each_pod_of_its_template():
    claims, named = play([template()], pod("a", BY_TEMPLATE), pod("b", BY_TEMPLATE))
    assert named == {"a": {"gpu": "a-gpu"}, "b": {"gpu": "b-gpu"}}
    made = claims["a-gpu"]
    assert (made.metadata.namespace, made.metadata.uid) == ("shop", "shop/a-gpu")
    assert made.metadata.labels == {"app": "web"}
    assert made.metadata.annotations == {"note": "x", "resource.kubernetes.io/pod-claim-name": "gpu"}
    [owner] = made.metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name, owner.controller) == ("v1", "Pod", "a", True)
    assert made.spec == SPEC


def test_names_that_are_taken_get_a_number():
    taken = [template(), claim("a-gpu"), claim("a-gpu-1")]
    claims, named = play(taken, pod("a", BY_TEMPLATE))
    assert named["a"] == {"gpu": "a-gpu-2"}
    assert len(claims) == 3


def test_claims_that_are_named_or_known_or_without_a_template_are_not_made():
    claims, named = play(
        [template(), template("t", "elsewhere")],
        pod(
            "a",
            {"name": "own", "resourceClaimName": "mine"},
            {"name": "known", "resourceClaimTemplateName": "t"},
            {"name": "none", "resourceClaimTemplateName": "unknown"},
            status={"resourceClaimStatuses": [{"name": "known", "resourceClaimName": "old"}]},
        ),
    )
    assert claims == {}
    assert named["a"] == {"known": "old"}


def test_pods_that_an_api_server_has_held_or_that_run_or_have_ended_stay_as_they_are():
    pods = (
        pod("held", BY_TEMPLATE, resourceVersion="7"),
        pod("runs", BY_TEMPLATE, node="n1"),
        pod("done", BY_TEMPLATE, status={"phase": "Succeeded"}),
        pod("plain"),
    )
    claims, named = play([template()], *pods)
    assert claims == {}
    assert named == {"held": {}, "runs": {}, "done": {}, "plain": {}}


def native_group(*claims: dict[str, str]) -> NativePodGroup:
    spec = {"resourceClaims": list(claims)}
    return msgspec.convert({"metadata": {"name": "train", "namespace": "shop"}, "spec": spec}, NativePodGroup)


def test_a_claim_of_a_group_is_one_for_all_pods_that_name_it_in_the_same_way():
    other = {"name": "own", "resourceClaimTemplateName": "t"}
    claims, named = play(
        [template()],
        pod("a", BY_TEMPLATE, group="train"),
        pod("b", BY_TEMPLATE, other, group="train"),
        pod("c", BY_TEMPLATE),
        groups=[native_group(BY_TEMPLATE)],
    )
    assert named == {
        "a": {"gpu": "train-gpu"},
        "b": {"gpu": "train-gpu", "own": "b-own"},
        "c": {"gpu": "c-gpu"},
    }
    [owner] = claims["train-gpu"].metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name) == ("scheduling.k8s.io/v1alpha2", "PodGroup", "train")


def test_claims_of_the_input_name_pods_by_name_and_others_stay():
    users = [{"resource": "pods", "name": "p", "uid": "77"}, {"resource": "jobs", "name": "j", "uid": "78"}]
    there = msgspec.convert({"metadata": {"name": "gpu"}, "spec": {}}, DeviceClass)
    found, _ = play_claim_controller([claim("c", reservedFor=users), there, template()], [])
    assert found[0] is there
    [renamed] = [each for each in found if isinstance(each, ResourceClaim)]
    assert len(found) == 2
    assert renamed.metadata.uid == "shop/c"
    assert [each.uid for each in renamed.metadata.owner_references] == [""]
    assert [each.uid for each in renamed.status.reserved_for] == ["shop/p", "78"]
