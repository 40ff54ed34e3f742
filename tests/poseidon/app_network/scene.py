"""A simulated API server and bridges that run the controllers against it, over HTTP."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from poseidon.app_network.options import NetworkOptions
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.poseidon.app_network.definitions import definitions
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_bridge import bridging
from tests.support.needs import words_of
from tests.support.waiting import until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APP_GROUPS = "/apis/appgroup.diktyo.x-k8s.io/v1alpha1/namespaces/default/appgroups"
TOPOLOGIES = "/apis/networktopology.diktyo.x-k8s.io/v1alpha1/namespaces/default/networktopologies"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"


class Scene:
    """Short-hand for requests, and the solver's view. ``status``: definitions have a status subresource."""

    def __init__(self, cluster, transport):
        self.cluster = cluster
        self.transport = transport
        self.solver = ScriptedSolver()

    async def define(self, *, status=False):
        for each in definitions():
            if status:
                each["spec"]["versions"][0]["subresources"] = {"status": {}}
            await self.create(CRDS, each)

    async def create(self, path, obj):
        return msgspec.json.decode(await self.transport.post(path, msgspec.json.encode(obj)))

    async def get(self, path):
        return msgspec.json.decode(await self.transport.get(path))

    async def items(self, path):
        return (await self.get(path))["items"]

    async def patch(self, path, change):
        return msgspec.json.decode(await self.transport.patch(path, msgspec.json.encode(change), MERGE_PATCH))

    async def delete(self, path):
        await self.transport.delete(path)

    async def node(self, name, region, zone):
        labels = {"topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone}
        status = {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        metadata = {"name": name, "labels": labels}
        await self.create(
            "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
        )

    async def pod(self, name, workload, node=None, phase="Running", app_group="shop"):
        labels = {"appgroup.diktyo.x-k8s.io": app_group, "appgroup.diktyo.x-k8s.io.workload": workload}
        spec = {"schedulerName": "other", "containers": [{"name": "main", "image": "none"}]}
        if node:
            spec["nodeName"] = node
        metadata = {"name": name, "labels": labels}
        await self.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        await self.transport.patch(
            f"{PODS}/{name}/status", msgspec.json.encode({"status": {"phase": phase}}), MERGE_PATCH
        )

    async def status_of(self, path):
        """Return an object's status, {} for none; its conditions by type."""
        status = (await self.get(path)).get("status", {})
        return {**status, "conditions": {each["type"]: each for each in status.get("conditions", [])}}

    async def until_status(self, path, condition):
        """Wait until an object's status satisfies the condition; return it."""
        found: dict[str, Any] = {}

        async def satisfied():
            found.clear()
            found.update(await self.status_of(path))
            return condition(found)

        await until(satisfied, what=f"status of {path}: {found}")
        return found

    async def warnings(self, kind):
        return [event for event in await self.items(EVENTS) if event["involvedObject"]["kind"] == kind]

    def record(self, kind, name):
        """Return what the solver knows, None if nothing."""
        payload = self.solver.view.records.get((kind, f"default/{name}"))
        return None if payload is None else msgspec.json.decode(payload)

    @asynccontextmanager
    async def bridge(self, overlay=True, *, network=None, **options):
        """Run a bridge with a solver of its own, which starts without any knowledge."""
        self.solver = ScriptedSolver()
        quick = ReflectorOptions(absent_seconds=0.05)
        async with running_solver(self.solver) as port:
            self.solver.needs = needs = words_of("network_overhead") if overlay else frozenset()
            options["configuration"] = BridgeConfiguration(network=network or NetworkOptions())
            async with bridging(self.cluster, port, needs=needs, reflector=quick, **options):
                await until(lambda: self.solver.synced)
                yield


@asynccontextmanager
async def scene():
    cluster = SimulatedCluster()
    await cluster.start()
    try:
        async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
            yield Scene(cluster, transport)
    finally:
        await cluster.stop()
