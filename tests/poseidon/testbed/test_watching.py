from __future__ import annotations

import asyncio

import pytest

from poseidon.testbed.api_server.options import ClusterOptions
from tests.poseidon.testbed.conftest import JsonClient, client_of, summary, take
from tests.support.cluster import binding, pod, running_cluster
from tests.support.time_limits import stretch

PODS = "/api/v1/namespaces/default/pods"


async def revision(api: JsonClient) -> str:
    _, body = await api.call("GET", PODS)
    return body["metadata"]["resourceVersion"]


async def test_a_watch_from_a_list_misses_and_repeats_nothing(api: JsonClient) -> None:
    await api.create_pods("before")
    start = await revision(api)
    await api.create_pods("a")
    async with api.watch(PODS, resourceVersion=start) as events:
        await api.call("POST", f"{PODS}/a/binding", binding("a", "n1"))
        await api.call("DELETE", f"{PODS}/a")
        seen = await take(events, 3)
    assert summary(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert revisions == sorted(set(revisions))
    assert revisions[0] > int(start)
    assert seen[2]["object"]["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
async def test_a_watch_from_nowhere_begins_with_what_is_there(api: JsonClient, query) -> None:
    await api.create_pods("a", "b")
    async with api.watch(PODS, **query) as events:
        assert summary(await take(events, 2)) == [("ADDED", "a"), ("ADDED", "b")]
        await api.create_pods("c")
        assert summary(await take(events, 1)) == [("ADDED", "c")]


async def test_objects_enter_and_leave_a_selection(api: JsonClient) -> None:
    start = await revision(api)
    async with api.watch(PODS, resourceVersion=start, fieldSelector="spec.nodeName=") as events:
        await api.create_pods("a")
        await api.call("POST", f"{PODS}/a/binding", binding("a", "n1"))
        await api.create_pods("b")
        seen = await take(events, 3)
    assert summary(seen) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    left = seen[1]["object"]
    assert "nodeName" not in left["spec"]
    _, current = await api.call("GET", f"{PODS}/a")
    assert left["metadata"]["resourceVersion"] == current["metadata"]["resourceVersion"]


async def test_labels_select_in_watches_too(api: JsonClient) -> None:
    start = await revision(api)
    await api.create_pods("a")
    async with api.watch(PODS, resourceVersion=start, labelSelector="on=yes") as events:
        patch = {"metadata": {"labels": {"on": "yes"}}}
        merge = "application/merge-patch+json"
        await api.call("PATCH", f"{PODS}/a", patch, content_type=merge)
        await api.call("PATCH", f"{PODS}/a", {"metadata": {"labels": {"on": None}}}, content_type=merge)
        assert summary(await take(events, 2)) == [("ADDED", "a"), ("DELETED", "a")]


async def test_a_watch_from_before_the_history_gets_a_410_event() -> None:
    async with running_cluster(ClusterOptions(history=3)) as cluster, client_of(cluster) as api:
        start = await revision(api)
        await api.create_pods("a", "b", "c", "d")
        async with api.watch(PODS, resourceVersion=start) as events:
            [event] = await take(events, 1)
            with pytest.raises(StopAsyncIteration):
                await take(events, 1)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith("too old resource version")


async def test_bookmarks_advance_while_the_kind_is_quiet() -> None:
    async with running_cluster(ClusterOptions(bookmark_interval=0.05)) as cluster, client_of(cluster) as api:
        start = await revision(api)
        async with api.watch(PODS, resourceVersion=start, allowWatchBookmarks="true") as events:
            await api.call("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
            async with asyncio.timeout(stretch(10)):
                async for event in events:
                    assert event["type"] == "BOOKMARK"
                    assert event["object"]["kind"] == "Pod"
                    if int(event["object"]["metadata"]["resourceVersion"]) > int(start):
                        break


async def test_without_asking_there_are_no_bookmarks() -> None:
    options = ClusterOptions(bookmark_interval=0.01)
    query = {"watch": "1", "timeoutSeconds": "1"}
    async with (
        running_cluster(options) as cluster,
        client_of(cluster) as api,
        api.session.get(PODS, params=query) as response,
    ):
        assert await response.read() == b""


async def test_a_timeout_ends_the_watch_after_a_last_bookmark(api: JsonClient) -> None:
    async with (
        asyncio.timeout(stretch(10)),
        api.watch(PODS, timeoutSeconds="1", allowWatchBookmarks="true") as events,
    ):
        assert [event["type"] async for event in events] == ["BOOKMARK"]


async def test_initial_events_end_with_a_marked_bookmark(api: JsonClient) -> None:
    await api.create_pods("a")
    query = {
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    async with api.watch(PODS, **query) as events:
        first, mark = await take(events, 2)
    assert (first["type"], mark["type"]) == ("ADDED", "BOOKMARK")
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_one_object_can_be_watched_by_its_path(api: JsonClient) -> None:
    await api.create_pods("a", "b")
    async with api.watch(f"{PODS}/b") as events:
        assert summary(await take(events, 1)) == [("ADDED", "b")]


async def test_all_namespaces_are_watched_together(api: JsonClient) -> None:
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    start = await revision(api)
    async with (
        api.watch("/api/v1/pods", resourceVersion=start) as every,
        api.watch(PODS, resourceVersion=start) as own,
    ):
        await api.call("POST", "/api/v1/namespaces/team/pods", pod("x", namespace="team"))
        await api.create_pods("a")
        assert summary(await take(every, 2)) == [("ADDED", "x"), ("ADDED", "a")]
        assert summary(await take(own, 1)) == [("ADDED", "a")]


async def test_three_watchers_see_a_thousand_changes_in_order(api: JsonClient) -> None:
    start = await revision(api)

    async def follow() -> list[str]:
        async with api.watch(PODS, resourceVersion=start) as events:
            return [event["object"]["metadata"]["name"] for event in await take(events, 1000)]

    watchers = [asyncio.create_task(follow()) for _ in range(3)]
    names = [f"p{index:04d}" for index in range(1000)]
    for name in names:
        api.cluster.operations.create(_pods(api), "default", pod(name))
    for watcher in watchers:
        assert await watcher == names


def _pods(api: JsonClient):
    resource = api.cluster.operations.registry.find("", "v1", "pods")
    assert resource is not None
    return resource
