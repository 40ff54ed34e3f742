from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.poseidon.testbed.conftest import JsonClient, summary, take
from tests.support.time_limits import stretch

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
MERGE = "application/merge-patch+json"


def definition(*, served: tuple[str, ...] = ("v1alpha1",), **changes: Any) -> dict[str, Any]:
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
        "spec": {
            "group": "scheduling.x-k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "podgroups", "kind": "PodGroup", "shortNames": ["pg"]},
            "versions": [
                {"name": name, "served": True, "storage": name == served[0], "subresources": {"status": {}}}
                for name in served
            ],
            **changes,
        },
    }


def group(name: str, version: str = "v1alpha1") -> dict[str, Any]:
    return {
        "kind": "PodGroup",
        "apiVersion": f"scheduling.x-k8s.io/{version}",
        "metadata": {"name": name},
        "spec": {"minMember": 2},
    }


async def test_a_definition_is_served_at_once_and_gone_when_deleted(api: JsonClient) -> None:
    assert (await api.call("GET", GROUPS))[0] == 404
    status, created = await api.call("POST", CRDS, definition())
    assert status == 201
    conditions = {c["type"]: c["status"] for c in created["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    _, listed = await api.call("GET", "/apis/scheduling.x-k8s.io/v1alpha1")
    assert [resource["name"] for resource in listed["resources"]] == ["podgroups", "podgroups/status"]
    assert (await api.call("POST", GROUPS, group("g")))[0] == 201
    _, groups = await api.call("GET", GROUPS)
    # The items of custom lists do carry their kind.
    assert (groups["kind"], groups["items"][0]["kind"]) == ("PodGroupList", "PodGroup")
    assert (await api.call("DELETE", f"{CRDS}/podgroups.scheduling.x-k8s.io"))[0] == 200
    assert (await api.call("GET", GROUPS))[0] == 404
    assert (await api.call("GET", "/apis/scheduling.x-k8s.io"))[0] == 404


async def test_deleting_a_definition_ends_its_watches(api: JsonClient) -> None:
    await api.call("POST", CRDS, definition())
    await api.call("POST", GROUPS, group("g"))
    async with api.watch(GROUPS) as events:
        assert summary(await take(events, 1)) == [("ADDED", "g")]
        await api.call("DELETE", f"{CRDS}/podgroups.scheduling.x-k8s.io")
        async with asyncio.timeout(stretch(10)):
            assert summary([event async for event in events]) == [("DELETED", "g")]


async def test_versions_are_the_same_objects(api: JsonClient) -> None:
    await api.call("POST", CRDS, definition(served=("v1alpha1", "v1")))
    newer = GROUPS.replace("v1alpha1", "v1")
    status, created = await api.call("POST", newer, group("g", "v1"))
    assert (status, created["apiVersion"]) == (201, "scheduling.x-k8s.io/v1")
    _, older = await api.call("GET", f"{GROUPS}/g")
    assert older == {**created, "apiVersion": "scheduling.x-k8s.io/v1alpha1"}
    _, listed = await api.call("GET", newer)
    assert listed["items"] == [created]
    async with api.watch(newer) as events:
        [event] = await take(events, 1)
    assert event["object"] == created


async def test_updates_follow_the_rules_for_custom_resources(api: JsonClient) -> None:
    await api.call("POST", CRDS, definition())
    _, created = await api.call("POST", GROUPS, {**group("g"), "status": {"phase": "Pending"}})
    assert "status" not in created
    status, error = await api.call("PUT", f"{GROUPS}/g", group("g"))
    assert (status, error["reason"]) == (422, "Invalid")
    _, patched = await api.call(
        "PATCH", f"{GROUPS}/g/status", {"status": {"phase": "Running"}}, content_type=MERGE
    )
    assert patched["status"] == {"phase": "Running"}
    strategic = "application/strategic-merge-patch+json"
    assert (await api.call("PATCH", f"{GROUPS}/g", {}, content_type=strategic))[0] == 415


async def test_a_version_can_cease_to_be_served(api: JsonClient) -> None:
    await api.call("POST", CRDS, definition(served=("v1alpha1", "v1")))
    await api.call("POST", GROUPS, group("g"))
    patch = {"spec": definition()["spec"]}
    assert (await api.call("PATCH", f"{CRDS}/podgroups.scheduling.x-k8s.io", patch, content_type=MERGE))[
        0
    ] == 200
    assert (await api.call("GET", GROUPS.replace("v1alpha1", "v1")))[0] == 404
    assert (await api.call("GET", f"{GROUPS}/g"))[0] == 200


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"group": ""}, "spec.group"),
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"names": {}}, "spec.names.plural"),
        ({"names": []}, "spec.names.kind"),
        ({"versions": []}, "spec.versions"),
        ({"versions": [{"name": "v1", "served": True, "storage": False}]}, "spec.versions"),
        ({"group": "other.example"}, "metadata.name"),
    ],
)
async def test_broken_definitions_are_refused(api: JsonClient, changes, field: str) -> None:
    status, error = await api.call("POST", CRDS, definition(**changes))
    assert status == 422
    assert field in error["message"]
    assert (await api.call("GET", GROUPS))[0] == 404
