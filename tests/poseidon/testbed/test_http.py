from __future__ import annotations

import json

import pytest

from poseidon.testbed.api_server.options import ClusterOptions
from tests.poseidon.testbed.conftest import JsonClient, client_of
from tests.support.cluster import binding, pod, running_cluster

PODS = "/api/v1/namespaces/default/pods"
NO_STATUS = "the server could not find the requested resource"


async def test_health_and_version_are_plain(api: JsonClient) -> None:
    for path in ("/healthz", "/readyz", "/livez", "/readyz/ping"):
        async with api.session.get(path) as response:
            assert (response.status, await response.text()) == (200, "ok")
    _, version = await api.call("GET", "/version")
    assert (version["major"], version["minor"]) == ("1", "36")


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api/v2",
        "/api/v2/pods",
        "/apis/none.example",
        "/api/v1/teapots",
        "/apis/apps/v1/pods",
        "/openapi/v2",
        "/api/v1/namespaces/default/nodes",
        f"{PODS}/a/log",
        f"{PODS}/a/b/c",
        "/apis/coordination.k8s.io/v1beta1/leases",
    ],
)
async def test_unknown_paths_are_not_found(api: JsonClient, path: str) -> None:
    status, body = await api.call("GET", path)
    assert (status, body["kind"], body["reason"], body["message"]) == (404, "Status", "NotFound", NO_STATUS)


async def test_discovery_lists_what_is_served(api: JsonClient) -> None:
    _, core = await api.call("GET", "/api/v1")
    resources = {resource["name"]: resource for resource in core["resources"]}
    assert resources["pods"]["shortNames"] == ["po"]
    assert {"list", "watch", "patch", "deletecollection"} <= set(resources["pods"]["verbs"])
    assert resources["pods/binding"]["kind"] == "Binding"
    assert "nodes/status" in resources
    assert resources["nodes"]["namespaced"] is False
    _, groups = await api.call("GET", "/apis")
    served = {group["name"] for group in groups["groups"]}
    assert {"apps", "batch", "policy", "events.k8s.io", "apiextensions.k8s.io"} <= served
    for group in groups["groups"]:
        version = group["preferredVersion"]["groupVersion"]
        status, listed = await api.call("GET", f"/apis/{version}")
        assert (status, listed["groupVersion"]) == (200, version)
        for resource in listed["resources"]:
            if "list" in resource["verbs"]:
                assert (await api.call("GET", f"/apis/{version}/{resource['name']}"))[0] == 200


async def test_objects_live_and_die_over_http(api: JsonClient) -> None:
    [created] = await api.create_pods("a")
    assert created["kind"] == "Pod"
    status, got = await api.call("GET", f"{PODS}/a")
    assert (status, got) == (200, created)
    status, error = await api.call("POST", PODS, pod("a"))
    assert (status, error["reason"], error["details"]) == (
        409,
        "AlreadyExists",
        {"name": "a", "kind": "pods"},
    )
    created["metadata"]["labels"] = {"x": "y"}
    status, updated = await api.call("PUT", f"{PODS}/a", created)
    assert (status, updated["metadata"]["labels"]) == (200, {"x": "y"})
    status, error = await api.call("PUT", f"{PODS}/a", created)
    assert (status, error["reason"]) == (409, "Conflict")
    status, deleted = await api.call("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert (status, deleted["metadata"]["uid"]) == (200, created["metadata"]["uid"])
    status, error = await api.call("GET", f"{PODS}/a")
    assert (status, error["message"]) == (404, 'pods "a" not found')


async def test_deleting_a_node_answers_with_a_status(api: JsonClient) -> None:
    await api.call("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    status, body = await api.call("DELETE", "/api/v1/nodes/n")
    assert (status, body["kind"], body["status"], body["details"]["name"]) == (200, "Status", "Success", "n")


async def test_preconditions_of_a_delete(api: JsonClient) -> None:
    await api.create_pods("a")
    status, body = await api.call("DELETE", f"{PODS}/a", {"preconditions": {"uid": "another"}})
    assert (status, body["reason"]) == (409, "Conflict")
    status, _ = await api.call("DELETE", f"{PODS}/a?dryRun=All")
    assert status == 200
    status, _ = await api.call("GET", f"{PODS}/a")
    assert status == 200


async def test_bindings_by_subresource_and_by_collection(api: JsonClient) -> None:
    await api.create_pods("a", "b")
    status, body = await api.call("POST", f"{PODS}/a/binding", binding("a", "n1"))
    assert (status, body["status"]) == (201, "Success")
    status, _ = await api.call("POST", "/api/v1/namespaces/default/bindings", binding("b", "n1"))
    assert status == 201
    status, body = await api.call("POST", f"{PODS}/a/binding", binding("a", "n2"))
    assert (status, body["reason"]) == (409, "Conflict")
    _, bound = await api.call("GET", "/api/v1/pods", params={"fieldSelector": "spec.nodeName=n1"})
    assert [item["metadata"]["name"] for item in bound["items"]] == ["a", "b"]


async def test_the_status_subresource(api: JsonClient) -> None:
    await api.create_pods("a")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status, body = await api.call(
        "PATCH",
        f"{PODS}/a/status",
        {"status": {"conditions": [condition]}},
        content_type="application/strategic-merge-patch+json",
    )
    assert (status, body["status"]["conditions"]) == (200, [condition])
    body["status"]["phase"] = "Failed"
    status, body = await api.call("PUT", f"{PODS}/a/status", body)
    assert (status, body["status"]["phase"]) == (200, "Failed")
    assert (await api.call("GET", f"{PODS}/a/status"))[1] == body


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", PODS, b"{", 400),
        ("POST", PODS, b"[]", 400),
        ("PUT", PODS, b"{}", 405),
        ("POST", f"{PODS}/a", b"{}", 405),
        ("GET", f"{PODS}/a/binding", None, 405),
        ("POST", f"{PODS}/a/binding", b"x", 400),
        ("GET", f"{PODS}?limit=many", None, 400),
        ("GET", f"{PODS}?limit=-1", None, 400),
        ("GET", f"{PODS}?watch=1&resourceVersion=x", None, 400),
        ("GET", f"{PODS}?labelSelector=(", None, 400),
        ("GET", f"{PODS}?fieldSelector=spec.color%3Dred", None, 400),
        ("POST", f"{PODS}?dryRun=Some", b"{}", 400),
        ("DELETE", f"{PODS}/a", b"x", 400),
        ("DELETE", f"{PODS}/a", b"[]", 400),
        ("DELETE", f"{PODS}/a", b'{"preconditions": 1}', 400),
        ("GET", "/simulated/v1/bulk", None, 405),
    ],
)
async def test_bad_requests_get_a_status(api: JsonClient, method: str, path: str, body, code: int) -> None:
    await api.create_pods("a")
    status, answer = await api.call(method, path, body)
    assert (status, answer["kind"], answer["code"]) == (code, "Status", code)


async def test_other_formats_are_refused(api: JsonClient) -> None:
    status, body = await api.call("POST", PODS, b"a: 1", content_type="application/yaml")
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")


async def test_a_body_above_the_limit_is_refused(api: JsonClient) -> None:
    status, body = await api.call("POST", PODS, b" " * (3 * 1024 * 1024 + 1))
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_token_keeps_others_out() -> None:
    async with running_cluster(ClusterOptions(token="s3cret")) as cluster, client_of(cluster) as api:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cret"}):
            status, body = await api.call("GET", PODS, headers=headers)
            assert (status, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")
        assert (await api.call("GET", PODS, headers={"Authorization": "Bearer s3cret"}))[0] == 200
        async with api.session.get("/healthz") as response:
            assert response.status == 200


async def test_events_are_the_same_objects_in_both_groups(api: JsonClient) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "regarding": {"kind": "Pod", "name": "a", "namespace": "default"},
        "note": "Successfully assigned",
        "reason": "Scheduled",
        "type": "Normal",
        "reportingController": "poseidon",
        "eventTime": "2026-01-01T12:00:00.000000Z",
    }
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    status, created = await api.call("POST", path, event)
    assert (status, created["note"], created["apiVersion"]) == (
        201,
        "Successfully assigned",
        "events.k8s.io/v1",
    )
    _, core = await api.call("GET", "/api/v1/namespaces/default/events/e")
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", event["note"], "a")
    assert "note" not in core
    query = {"fieldSelector": "involvedObject.name=a,reason=Scheduled,type=Normal"}
    _, listed = await api.call("GET", "/api/v1/events", params=query)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["e"]
    _, listed = await api.call("GET", path)
    assert listed["items"][0]["regarding"]["name"] == "a"
    assert "kind" not in listed["items"][0]
    patch = {"note": "Changed"}
    _, patched = await api.call("PATCH", f"{path}/e", patch, content_type="application/merge-patch+json")
    assert patched["note"] == "Changed"
    _, core = await api.call("GET", "/api/v1/namespaces/default/events/e")
    assert core["message"] == "Changed"
    assert "note" not in core


async def test_bulk_creates_what_it_can_and_names_the_rest(api: JsonClient) -> None:
    running = pod("running", nodeName="n") | {"status": {"phase": "Running"}}
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}
    lines = [
        json.dumps(node),
        "",
        json.dumps(running),
        "{",
        json.dumps({"kind": "Teapot"}),
        json.dumps(running),
    ]
    status, body = await api.call("POST", "/simulated/v1/bulk", "\n".join(lines).encode())
    assert (status, body["created"], body["failed"]) == (422, 2, 3)
    assert [error["line"] for error in body["errors"]] == [4, 5, 6]
    _, got = await api.call("GET", f"{PODS}/running")
    assert got["status"]["phase"] == "Running"
    status, body = await api.call("POST", "/simulated/v1/bulk", json.dumps(pod("more")).encode())
    assert (status, body) == (201, {"created": 1, "failed": 0, "errors": []})


async def test_clusters_can_be_stopped_and_started_again() -> None:
    async with running_cluster() as cluster:
        with pytest.raises(RuntimeError, match="already"):
            await cluster.start()
        await cluster.stop()
        await cluster.stop()
        with pytest.raises(RuntimeError, match="not running"):
            _ = cluster.url
        await cluster.start()
        async with client_of(cluster) as api:
            assert (await api.call("GET", PODS))[0] == 200


@pytest.mark.parametrize("bad", [{"history": 0}, {"token": ""}, {"bookmark_interval": 0}])
def test_impossible_options_are_refused(bad) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        ClusterOptions(**bad)
