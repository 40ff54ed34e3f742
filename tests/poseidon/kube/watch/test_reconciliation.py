"""What a reflector has handed over is compared with what the API server has, and mended."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from poseidon.kube.api.nodes import Node
from poseidon.kube.api.resource import Resource
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.watch_options import ReflectorOptions, WatchOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.poseidon.kube.scripted_api import listing, node, scripted, status, watch
from tests.support.waiting import until

NODES = Resource("nodes", "/api/v1/nodes", Node)
OPTIONS = ReflectorOptions(page_size=3, backoff_initial=0.01, backoff_cap=0.02)


class Reconciling:
    """A reflector at work that compares every ``seconds``; ``objects`` by uid as it has handed them over."""

    def __init__(self, url, seconds=0.02):
        self.objects = {}
        self.registry = CollectorRegistry()
        self.transport = Transport(ConnectionSettings(url), clock=time.monotonic)
        self.reflector = Reflector(
            Environment(
                self.transport,
                KubeMetrics(self.registry),
                Random(1),
                watch=WatchOptions(reconcile_period=seconds),
                reflector=OPTIONS,
            ),
            NODES,
            self._take,
        )

    def _take(self, changes):
        for change in changes:
            self.objects[change.uid] = change.object
            if change.object is None:
                del self.objects[change.uid]

    @property
    def versions(self):
        return {uid: each.metadata.resource_version for uid, each in self.objects.items()}

    def count(self, name, **labels):
        return self.registry.get_sample_value(name, {"resource": "nodes", **labels}) or 0

    def reconciled(self, result):
        return self.count("poseidon_watch_reconciliations_total", result=result)

    @property
    def drifted(self):
        return self.count("poseidon_watch_drifted_objects_total")

    @property
    def relists(self):
        return self.count("poseidon_watch_relists_total", reason="drift")

    async def __aenter__(self):
        self.running = asyncio.create_task(self.reflector.run())
        return self

    async def __aexit__(self, *_):
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.transport.close()


def server(first, exact, then, asked):
    """Serve ``first``, a watch that says only that version 20 is reached, ``exact`` at 20, and ``then`` at 30."""
    lists = [first]

    async def answer(request):
        if "watch" in request.query:
            reached = "20" if request.query["resourceVersion"] == "10" else request.query["resourceVersion"]
            bookmark = ("BOOKMARK", {"metadata": {"resourceVersion": reached}})
            return await watch(request, bookmark, then="hang")
        if request.query.get("resourceVersionMatch") == "Exact":
            asked.append(request)
            if request.query["resourceVersion"] == "20":
                return exact() if callable(exact) else listing(20, *exact)
            return listing(30, *then) if request.query["resourceVersion"] == "30" else listing(10, *first)
        return listing(10 if lists else 30, *(lists.pop() if lists else then))

    return answer


async def test_what_was_lost_and_what_was_made_up_is_listed_anew():
    asked: list[Any] = []
    before, there = [node("a", 1), node("b", 2)], [node("a", 1), node("c", 15)]
    async with scripted(server(before, there, there, asked)) as (_, url), Reconciling(url) as nodes:
        await until(lambda: nodes.versions == {"a": "1", "c": "15"})
        assert nodes.drifted == 2
        assert nodes.relists == 1
    assert asked[-1].query["limit"] == "3"
    assert asked[-1].headers["Accept"].startswith("application/json;as=PartialObjectMetadataList;")


async def test_an_object_in_another_version_has_drifted():
    async with (
        scripted(server([node("a", 1)], [node("a", 9)], [node("a", 9)], [])) as (_, url),
        Reconciling(url) as nodes,
    ):
        await until(lambda: nodes.versions == {"a": "9"})
        assert nodes.drifted >= 1


async def test_without_a_period_it_is_still_compared_after_an_outage():
    """An object that changed last and is gone may be a server's that has come back with an older state."""
    asked: list[Any] = []
    watches = 0

    async def answer(request):
        nonlocal watches
        if "watch" in request.query:
            watches += 1
            change = ("ADDED", node("b", 15))
            if watches == 1:
                return await watch(request, change)
            return await watch(request, ("BOOKMARK", {"metadata": {"resourceVersion": "20"}}), then="hang")
        if request.query.get("resourceVersionMatch") == "Exact":
            asked.append(request)
            return listing(15, node("a", 9))
        return listing(10, node("a", 1)) if not watches else listing(30, node("a", 9))

    async with scripted(answer) as (_, url), Reconciling(url, seconds=0) as nodes:
        await until(lambda: nodes.versions == {"a": "9"})
    assert len(asked) == 1


async def test_what_is_the_same_is_left_alone():
    there = [node("a", 1), node("b", 2)]
    async with scripted(server(there, there, [], [])) as (_, url), Reconciling(url) as nodes:
        await until(lambda: nodes.reconciled("same") >= 5)
        assert nodes.drifted == nodes.relists == 0
        assert nodes.versions == {"a": "1", "b": "2"}


async def test_a_version_that_is_remembered_no_more_says_nothing():
    def expired():
        return status(410, "Expired", "too old")

    async with (
        scripted(server([node("a", 1)], expired, [], [])) as (_, url),
        Reconciling(url) as nodes,
    ):
        await until(lambda: nodes.reconciled("skipped") >= 3)
        assert nodes.drifted == nodes.relists == 0


async def test_an_error_is_for_the_next_time():
    def failing():
        return status(500, "InternalError", "no")

    async with (
        scripted(server([node("a", 1)], failing, [], [])) as (_, url),
        Reconciling(url) as nodes,
    ):
        await until(lambda: nodes.reconciled("failed") >= 3)
        assert nodes.drifted == nodes.relists == 0
        assert not nodes.running.done()


async def test_an_object_that_cannot_be_decoded_is_known_all_the_same():
    broken = {**node("x", 3), "spec": {"taints": 7}}
    there = [node("a", 1), broken]
    async with scripted(server(there, there, [], [])) as (_, url), Reconciling(url) as nodes:
        await until(lambda: nodes.reconciled("same") >= 2)
        assert nodes.versions == {"a": "1"}
        assert nodes.drifted == 0


async def test_a_cluster_that_changes_all_the_time_does_not_drift():
    cluster = SimulatedCluster()
    await cluster.start()
    try:
        async with Reconciling(cluster.url, 0.005) as nodes:
            transport = nodes.transport
            for index in range(150):
                name = f"n{index % 12}"
                if index % 12 in nodes_there(nodes):
                    await transport.delete(f"/api/v1/nodes/{name}")
                body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
                if index % 3:
                    await transport.post("/api/v1/nodes", msgspec.json.encode(body))
                    await until(partial(is_there, nodes, name))
            await until(lambda: nodes.reconciled("same") >= 5)
            assert nodes.drifted == nodes.relists == 0
    finally:
        await cluster.stop()


def names(nodes):
    return {each.metadata.name for each in nodes.objects.values()}


def is_there(nodes, name):
    return name in names(nodes)


def nodes_there(nodes):
    return {int(name[1:]) for name in names(nodes)}
