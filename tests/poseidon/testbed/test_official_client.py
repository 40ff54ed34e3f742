"""The official typed client against the simulated cluster."""

from __future__ import annotations

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

from poseidon.testbed.api_server.options import ClusterOptions
from tests.support.cluster import cluster_in_thread, pod

TOKEN = "s3cret"


@pytest.fixture
def core():
    with cluster_in_thread(ClusterOptions(token=TOKEN)) as cluster:
        configuration = client.Configuration(host=cluster.url)
        configuration.api_key = {"authorization": f"Bearer {TOKEN}"}
        with client.ApiClient(configuration) as connection:
            yield client.CoreV1Api(connection)


def make_pod(core, name: str):
    return core.create_namespaced_pod("default", pod(name))


def test_nodes_pods_and_their_status(core) -> None:
    core.create_node({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}})
    [node] = core.list_node().items
    assert (node.metadata.name, node.status.allocatable) == ("n", {"cpu": "4"})
    created = make_pod(core, "a")
    assert created.status.phase == "Pending"
    assert created.metadata.creation_timestamp.tzinfo is not None
    patched = core.patch_namespaced_pod_status("a", "default", {"status": {"phase": "Running"}})
    assert patched.status.phase == "Running"
    assert core.read_namespaced_pod("a", "default").status.phase == "Running"
    deleted = core.delete_namespaced_pod("a", "default")
    assert deleted.metadata.uid == created.metadata.uid
    # This version of the client declares the answer as a plain object.
    answer = core.delete_node("n")
    assert core.api_client.sanitize_for_serialization(answer)["status"] == "Success"


def test_errors_are_understood(core) -> None:
    with pytest.raises(ApiException) as caught:
        core.read_namespaced_pod("missing", "default")
    assert caught.value.status == 404
    make_pod(core, "a")
    with pytest.raises(ApiException) as caught:
        make_pod(core, "a")
    assert caught.value.status == 409


def test_pages_continue(core) -> None:
    for name in "abc":
        make_pod(core, name)
    first = core.list_pod_for_all_namespaces(limit=2)
    assert first.metadata.remaining_item_count == 1
    second = core.list_pod_for_all_namespaces(limit=2, _continue=first.metadata._continue)
    assert [item.metadata.name for item in first.items + second.items] == ["a", "b", "c"]


def test_a_watch_follows_bindings(core) -> None:
    start = core.list_namespaced_pod("default").metadata.resource_version
    make_pod(core, "a")
    target = client.V1ObjectReference(kind="Node", name="n")
    body = client.V1Binding(metadata=client.V1ObjectMeta(name="a"), target=target)
    # The typed call cannot decode the reply of a real server either.
    core.create_namespaced_pod_binding("a", "default", body, _preload_content=False)
    seen = []
    for event in watch.Watch().stream(
        core.list_namespaced_pod, "default", resource_version=start, timeout_seconds=30
    ):
        seen.append((event["type"], event["object"].spec.node_name))
        if len(seen) == 2:
            break
    assert seen == [("ADDED", None), ("MODIFIED", "n")]
