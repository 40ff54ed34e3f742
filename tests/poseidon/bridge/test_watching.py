"""Which collections a bridge follows, in which order, and from when on it knows enough."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.state import BridgeState
from poseidon.bridge.watching import Watching
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.queues.options import QueueOptions
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.seeding import NodeShape, node
from tests.support.cluster import pod, running_cluster
from tests.support.waiting import stays, until


class Network:
    """A controller of network objects that settles when a test says so."""

    has_settled = False
    known_at_start: int | None = None

    def __init__(self, count_known: Callable[[], int] = int) -> None:
        self.count_known = count_known

    async def run(self) -> None:
        self.known_at_start = self.count_known()
        await asyncio.Event().wait()


def watching(transport: Any, network: Any = None, **parts: Any) -> tuple[Watching, BridgeState]:
    configuration = BridgeConfiguration(**parts)
    state = BridgeState(configuration)
    made = Watching(
        Environment(transport, random=Random(1)),
        BridgeOptions(("127.0.0.1:1",), configuration),
        state,
        lambda: None,
        registry=CollectorRegistry(),
        network=network,
    )
    return made, state


def names(found: Watching) -> list[str]:
    listed = []
    for name, part in found.parts():
        listed.append(name)
        part.close()
    return listed


@asynccontextmanager
async def running(found: Watching):
    tasks = [asyncio.create_task(part) for _, part in found.parts()]
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("network", [None, Network()], ids=["without", "with"])
def test_what_is_followed(network):
    found, _ = watching(None, network)
    listed = names(found)
    assert listed[0] == "nodes"
    assert {"pods", "utilisation", "owners of gangs", "custom resource"} <= {*listed}
    assert ("applications" in listed) is (network is not None)
    assert "/apis/kueue.x-k8s.io/v1beta2/clusterqueues" not in listed
    assert found.find_served("/apis/unknown") == "/apis/unknown"


def test_owners_are_followed_before_pods_where_they_name_the_queue():
    queues = QueueOptions(source=("kueue",), admission="poseidon")
    found, state = watching(None, queues=queues)
    listed = names(found)
    assert state.queues is not None
    assert state.queues.follows_owners
    assert "owners of gangs" not in listed, "they need not be asked for first"
    assert listed.index("/apis/batch/v1/jobs") < listed.index("pods")
    assert "/apis/kueue.x-k8s.io/v1beta2/clusterqueues" in listed


async def test_the_cluster_is_known_once_nodes_pods_and_applications_are():
    network = Network()
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        create_object(cluster.operations, node("n1", NodeShape()))
        create_object(cluster.operations, pod("a", schedulerName="poseidon"))
        found, state = watching(transport, network)
        network.count_known = state.pending_count
        assert not found.has_settled
        async with running(found):
            await until(lambda: state.pending_count() == 1)
            assert state.knows_node("n1"), "nodes and all else come before pods"
            await until(lambda: network.known_at_start is not None)
            assert network.known_at_start == 1, "pods come before applications"
            assert not found.has_settled, "applications are not known yet"
            network.has_settled = True
            await until(lambda: found.has_settled)


async def test_owners_of_gangs_are_followed_from_when_a_pod_asks_for_it():
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        create_object(cluster.operations, node("n1", NodeShape()))
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {}},
        }
        made = msgspec.json.decode(
            await transport.post("/apis/apps/v1/namespaces/default/replicasets", msgspec.json.encode(owner))
        )
        member = pod("a")
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
        member["metadata"]["annotations"] = {"firmament-gang-scheduling": "100"}
        member["metadata"]["ownerReferences"] = [{**reference, "uid": made["metadata"]["uid"]}]
        create_object(cluster.operations, member)
        found, state = watching(transport)
        async with running(found):
            await until(lambda: found.has_settled)
            assert state.gangs.wanted_kinds == {"ReplicaSet"}
            await stays(lambda: len(state.list_held()) == 1, 0.03)
            found.follow_owners(["Unknown", *state.gangs.wanted_kinds])
            await until(lambda: not state.list_held())
