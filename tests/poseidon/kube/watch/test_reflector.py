"""List and watch, and what is done when either breaks."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from random import Random

import msgspec
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from poseidon.kube.api.collections import NODES
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.resource import Resource
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.watch.listing import pages
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.poseidon.kube.scripted_api import listing, node, scripted, status, watch
from tests.support.time_limits import stretch
from tests.support.waiting import until

QUICK = ReflectorOptions(page_size=3, absent_seconds=0.05, backoff_initial=0.01, backoff_cap=0.02)


class Store:
    """A handler that keeps what it is told."""

    def __init__(self):
        self.objects = {}
        self.batches = []
        self.gone = []

    def take(self, changes):
        self.batches.append(len(changes))
        for change in changes:
            if change.object is None:
                self.gone.append(change.uid)
                self.objects.pop(change.uid, None)
            else:
                self.objects[change.uid] = change.object

    @property
    def names(self):
        return sorted(item.metadata.name for item in self.objects.values())


class Watching:
    """A reflector at work."""

    def __init__(self, url, resource=NODES, options=QUICK):
        self.store = Store()
        self.registry = CollectorRegistry()
        self.transport = Transport(ConnectionSettings(url), clock=time.monotonic)
        self.reflector = Reflector(
            Environment(self.transport, KubeMetrics(self.registry), Random(1), reflector=options),
            resource,
            self.store.take,
        )

    def count(self, name, **labels):
        return self.registry.get_sample_value(name, {"resource": "nodes", **labels}) or 0

    def relists(self, reason):
        return self.count("poseidon_watch_relists_total", reason=reason)

    async def __aenter__(self):
        self.running = asyncio.create_task(self.reflector.run())
        return self

    async def __aexit__(self, *_):
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.transport.close()


def is_watch(request):
    return "watch" in request.query


async def hang(request):
    return await watch(request, then="hang")


# --- single faults, scripted ------------------------------------------------------------------------------------------


async def test_pages_are_handed_on_as_they_come_and_the_watch_begins_at_their_version():
    async def answer(request):
        if is_watch(request):
            assert request.query["resourceVersion"] == "10"
            assert request.query["allowWatchBookmarks"] == "true"
            assert 300 <= int(request.query["timeoutSeconds"]) <= 600
            return await watch(request, ("ADDED", node("d", 11)), ("DELETED", node("a", 12)), then="hang")
        assert request.query["limit"] == "3"
        if "continue" not in request.query:
            return listing(10, node("a", 1), node("b", 2), token="more")
        assert request.query["continue"] == "more"
        return listing(10, node("c", 3))

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.store.names == ["b", "c", "d"])
        assert watching.store.batches[:2] == [2, 1]
        assert watching.reflector.has_synced
        heard = [watching.count("poseidon_watch_events_total", type=each) for each in ("ADDED", "DELETED")]
        assert heard == [1, 1]


async def test_lines_of_one_read_are_one_batch():
    async def answer(request):
        if is_watch(request):
            lines = [msgspec.json.encode({"type": "ADDED", "object": node(f"n{i}", i)}) for i in range(100)]
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"\n".join(lines) + b"\n")
            await asyncio.Event().wait()
        return listing(1)

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(watching.store.objects) == 100)
        assert len(watching.store.batches) <= 3


async def test_heartbeats_of_nodes_are_handed_on_to_nobody():
    def report(at, version, **status):
        conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": at}]
        return node("a", version) | {
            "status": {"conditions": conditions, "allocatable": {"cpu": "4"}, **status}
        }

    async def answer(request):
        if not is_watch(request):
            return listing(10, node("a", 9))
        changes = [
            report("08:00", 11),
            report("08:05", 12),
            report("08:10", 13, images=[{"names": ["nginx"], "sizeBytes": 1}]),
            report("08:15", 14, images=[{"names": ["nginx"], "sizeBytes": 1}]),
            report("08:20", 15, conditions=[{"type": "Ready", "status": "False"}]),
            report("08:25", 16, conditions=[{"type": "Ready", "status": 7}]),
        ]
        return await watch(request, *(("MODIFIED", each) for each in changes), then="hang")

    async with scripted(answer) as (_, url), Watching(url, NODES) as watching:
        await until(lambda: watching.count("poseidon_rejected_objects_total") == 1)
        assert sum(watching.store.batches) == 1 + 3


async def test_a_list_that_expires_between_pages_begins_anew():
    expired = [True]

    async def answer(request):
        if is_watch(request):
            return await hang(request)
        if "continue" not in request.query:
            return listing(10, node("a", 1), token="more")
        if expired.pop() if expired else False:
            return status(410, "Expired", "The provided continue parameter is too old")
        return listing(12, node("b", 2))

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.reflector.has_synced)
        assert watching.store.names == ["a", "b"]
        assert watching.relists("expired") == 1


@pytest.mark.parametrize("how", ["http", "event"])
async def test_an_expired_watch_lists_anew_and_reports_what_vanished(how, caplog):
    lists = iter([listing(10, node("a", 1), node("b", 2)), listing(20, node("b", 2), node("c", 15))])
    watches = []

    async def answer(request):
        if not is_watch(request):
            return next(lists)
        watches.append(request.query["resourceVersion"])
        if len(watches) > 1:
            return await hang(request)
        if how == "http":
            return status(410, "Expired", "too old resource version")
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        return await watch(request, ("ERROR", gone))

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(watches) == 2)
        assert watching.store.names == ["b", "c"]
        assert watching.store.gone == ["a"]
        assert watches == ["10", "20"]
        assert watching.relists("expired") == 1
        assert watching.reflector.has_synced
    assert "gone back" not in caplog.text


async def test_a_list_with_an_older_object_shows_that_the_server_has_gone_back(caplog):
    lists = iter([listing(10, node("a", 9), node("b", 3)), *(listing(20, node("a", 5)) for _ in range(2))])
    watches = []

    async def answer(request):
        if not is_watch(request):
            return next(lists)
        watches.append(request)
        return status(410, "Expired", "old") if len(watches) == 1 else await hang(request)

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: "gone back" in caplog.text)
        await until(lambda: watching.store.gone == ["b"])
    assert "version=5 known=10" in caplog.text


async def test_a_list_that_is_asked_for_before_a_watch_is_resumed_comes_first():
    versions, listed = [], []

    async def answer(request):
        if is_watch(request):
            versions.append(request.query["resourceVersion"])
            return status(500, "InternalError", "broken") if len(versions) == 1 else await hang(request)
        listed.append(request)
        if len(listed) == 2:  # the look before the watch is resumed
            watching.reflector._list_anew("drift")
        return listing(10 if len(listed) < 3 else 20, node("a", 9))

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(versions) == 2)
        assert versions == ["10", "20"]
        assert watching.relists("drift") == 1


async def test_a_list_that_nobody_reads_to_its_end_is_given_up():
    released = asyncio.Event()

    async def answer(request):
        if "continue" in request.query:
            await released.wait()
        return listing(10, node("a", 1), token="more")

    async with (
        scripted(answer) as (_, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as client,
    ):
        async with asyncio.timeout(stretch(10)), aclosing(pages(client, NODES, 1)) as listed:
            assert [each.metadata.name for each in (await anext(listed)).items] == ["a"]
        released.set()


async def test_a_namesake_that_came_during_a_relist_replaces_the_old_object():
    lists = iter([listing(10, node("a", 1, "old")), listing(20, node("a", 15, "new"))])
    watches = []

    async def answer(request):
        if not is_watch(request):
            return next(lists)
        watches.append(request)
        return status(410, "Expired", "old") if len(watches) == 1 else await hang(request)

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(watches) == 2)
        assert set(watching.store.objects) == {"new"}
        assert watching.store.gone == ["old"]


async def test_a_broken_stream_resumes_after_the_last_bookmark():
    watches: list[str] = []

    async def answer(request):
        if not is_watch(request):
            there = [listing(10), listing(42, node("a", 11)), listing(43, node("a", 11), node("b", 43))]
            return there[min(len(watches), 2)]
        watches.append(request.query["resourceVersion"])
        if len(watches) == 1:
            bookmark = {"kind": "Node", "metadata": {"resourceVersion": "42"}}
            return await watch(request, ("ADDED", node("a", 11)), ("BOOKMARK", bookmark), then="break")
        if len(watches) == 2:
            return await watch(request, ("ADDED", node("b", 43)), then="break")
        return await hang(request)

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(watches) == 3)
        assert watches == ["10", "42", "43"]
        assert watching.store.names == ["a", "b"]
        assert watching.relists("start") == 1


@pytest.mark.parametrize(("gone", "asked"), [("a", "metadata.name=b"), ("b", "")])
async def test_before_a_watch_resumes_the_object_is_read_that_changed_last_and_is_there(gone, asked):
    watches, looks = list[str](), list[str]()

    async def answer(request):
        if not is_watch(request):
            if watches:
                looks.append(request.query.get("fieldSelector", ""))
            return listing(10) if not watches else listing(14, node("a", 11), node("b", 12))
        watches.append(request.query["resourceVersion"])
        if len(watches) > 1:
            return await hang(request)
        changes = ("ADDED", node("a", 11)), ("ADDED", node("b", 12)), ("DELETED", node(gone, 13))
        return await watch(request, *changes, then="break")

    async with scripted(answer) as (_, url), Watching(url):
        await until(lambda: len(watches) == 2)
    assert looks[0] == asked


async def test_a_server_that_fails_is_asked_again_and_logged_once(caplog):
    answers = []

    async def answer(request):
        if is_watch(request):
            return await hang(request)
        answers.append(request)
        if len(answers) < 5:
            return status(500, "InternalError", "etcd is away")
        return listing(10, node("a", 1))

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.store.names == ["a"])
    warnings = [r for r in caplog.records if r.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "etcd is away" in warnings[0].message


async def test_watches_that_break_again_and_again_end_in_a_new_list():
    async def answer(request):
        if not is_watch(request):
            return listing(10, node("a", 1))
        return status(500, "InternalError", "no")

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.relists("broken") >= 1)


async def test_as_many_watches_break_as_are_stated_before_that():
    watches = []

    async def answer(request):
        if is_watch(request):
            watches.append(request)
            return status(500, "InternalError", "no")
        if len(watches) >= 3:
            return await hang(request)
        return listing(10, node("a", 1))

    options = replace(QUICK, broken_watches=3)
    async with scripted(answer) as (_, url), Watching(url, options=options) as watching:
        await until(lambda: watching.relists("broken") >= 1)
        assert len(watches) == 3


async def test_what_is_no_longer_served_is_listed_anew_once_it_is():
    asked = []

    async def answer(request):
        asked.append("watch" if is_watch(request) else "list")
        if asked == ["list", "watch"] or asked[-2:] == ["watch", "list"]:
            return status(404, "NotFound", "not found") if len(asked) == 2 else listing(20, node("b", 2))
        return await hang(request) if is_watch(request) else listing(10, node("a", 1))

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.store.names == ["b"])
        assert asked[:3] == ["list", "watch", "list"], "a version of before means nothing"
        assert len(watching.store.gone) == 1


async def test_one_odd_object_does_not_spoil_the_rest(caplog):
    odd = {"metadata": {"name": "odd", "uid": "odd", "resourceVersion": "12"}, "spec": {"taints": 5}}

    async def answer(request):
        if not is_watch(request):
            return listing(10, node("a", 1), odd)
        return await watch(request, ("ADDED", odd), ("ADDED", node("b", 13)), then="hang")

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.store.names == ["a", "b"])
        assert watching.count("poseidon_rejected_objects_total") == 2
    assert "name=odd" in caplog.text


# --- against the simulated cluster ------------------------------------------------------------------------------------


@asynccontextmanager
async def running(**options):
    cluster = SimulatedCluster(ClusterOptions(**options))
    await cluster.start()
    try:
        yield cluster, Transport(ConnectionSettings(cluster.url), clock=time.monotonic)
    finally:
        await cluster.stop()


async def create(client, path, **obj):
    return msgspec.json.decode(await client.post(path, msgspec.json.encode(obj)))


async def create_node(client, name):
    await create(client, "/api/v1/nodes", apiVersion="v1", kind="Node", metadata={"name": name})


async def test_everything_arrives_from_the_simulated_cluster():
    async with running() as (cluster, client), client:
        for index in range(10):
            await create_node(client, f"n{index}")
        async with Watching(cluster.url) as watching:
            await until(lambda: watching.reflector.has_synced)
            assert len(watching.store.names) == 10
            await create_node(client, "late")
            await until(lambda: "late" in watching.store.names)
        assert watching.store.batches[:4] == [3, 3, 3, 1]


async def test_a_restarted_cluster_with_other_contents_is_taken_as_it_is():
    first = SimulatedCluster()
    await first.start()
    port = int(first.url.rpartition(":")[2])
    async with Transport(ConnectionSettings(first.url), clock=time.monotonic) as client:
        await create_node(client, "old")
        async with Watching(first.url) as watching:
            await until(lambda: watching.store.names == ["old"])
            await first.stop()
            second = SimulatedCluster(ClusterOptions(history=1))
            # Before it listens: at the very version that was known, nothing would tell the two apart for minutes.
            for index in range(4):
                node_of_second = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{index}"}}
                create_object(second.operations, node_of_second)
            await second.start(port=port)
            try:
                await until(lambda: watching.store.names == ["n0", "n1", "n2", "n3"])
            finally:
                await second.stop()


async def test_a_resource_that_is_installed_later_is_picked_up():
    resource = Resource("nodes", "/apis/example.com/v1/widgets", Node)
    definition = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    async with running() as (cluster, client), client, Watching(cluster.url, resource) as watching:
        await until(lambda: watching.reflector.has_synced)
        assert not watching.store.objects
        await create(
            client,
            path,
            apiVersion="apiextensions.k8s.io/v1",
            kind="CustomResourceDefinition",
            metadata={"name": "widgets.example.com"},
            spec=definition,
        )
        await create(
            client, resource.path, apiVersion="example.com/v1", kind="Widget", metadata={"name": "one"}
        )
        await until(lambda: watching.store.names == ["one"])
        assert watching.reflector.has_synced


VERSIONS = Resource("nodes", "/new/nodes", Node, other_paths=("/newer/nodes", "/api/v1/nodes"))


async def test_a_resource_is_followed_in_the_version_that_is_served_also_while_that_changes():
    """The server is upgraded: it breaks the watch, and serves the same objects under another path alone."""
    served, upgraded = ["/api/v1/nodes"], asyncio.Event()

    async def answer(request):
        if request.path not in served:
            return status(404, "NotFound", "the server could not find the requested resource")
        if not is_watch(request):
            return listing(10, node("a", 1), node("b", 2))
        if upgraded.is_set():
            return await hang(request)
        await upgraded.wait()
        return await watch(request, then="break")

    async with scripted(answer) as (_, url), Watching(url, VERSIONS) as watching:
        await until(lambda: watching.store.names == ["a", "b"])
        assert watching.reflector.path == "/api/v1/nodes"
        served[:] = ["/newer/nodes"]
        upgraded.set()
        await until(lambda: watching.reflector.path == "/newer/nodes")
        await until(lambda: watching.relists("served") == 1)
        await until(lambda: sum(watching.store.batches) == 4)
        assert not watching.store.gone
        served.append("/new/nodes")  # what is served already is not left for what is preferred
        assert watching.reflector.path == "/newer/nodes"


async def test_a_resource_that_is_served_in_no_version_is_absent():
    async def answer(request):
        return status(404, "NotFound", "the server could not find the requested resource")

    async with scripted(answer) as (api, url), Watching(url, VERSIONS) as watching:
        await watching.reflector.wait_synced()
        assert [path.partition("?")[0] for _, path, _, _ in api.requests[:3]] == [
            VERSIONS.path,
            *VERSIONS.other_paths,
        ]
