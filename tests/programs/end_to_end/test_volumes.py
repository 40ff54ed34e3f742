"""Both processes with volumes that are made while pods are placed, also when the bridge dies in between."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.node_rules import SELECTED_NODE
from poseidon.testbed.controllers.volumes import VolumeSimulation
from poseidon.testbed.objects.resources import EVENTS, PODS
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.programs.end_to_end.test_gangs import stage
from tests.support.cluster import pod
from tests.support.storage import (
    ZONE,
    attachment,
    claim,
    csi_driver,
    csi_node,
    storage_capacity,
    storage_class,
    using,
    volume,
)
from tests.support.waiting import until

NODES, COUNT, LIMIT = 9, 100, 25


@asynccontextmanager
async def provisioning(s, delay):
    """Run the controllers of volumes."""
    running = asyncio.create_task(drive(VolumeSimulation(s.operations.store, delay=delay)))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def prepare(s):
    """Nodes in three zones with limits, a class that makes volumes in two of them, claims and their pods."""
    for name in await s.nodes(NODES):
        create_object(s.operations, csi_node(name, disk_example_com=LIMIT))
    create_object(s.operations, storage_class(topologies=[(ZONE, ["zone-a", "zone-b"])]))
    for name in names("p", COUNT):
        create_object(s.operations, claim(name))
        create_object(s.operations, pod(name, cpu="10m", volumes=using(name)))


def listed(s, kind):
    return s.listed(s.operations.registry.of_kind("v1", kind))


def check_volumes(s):
    """Every pod runs where its volume is, the class allows it, and no node attaches more than it can."""
    s.check_sound()
    zones = {node["metadata"]["name"]: node["metadata"]["labels"][ZONE] for node in listed(s, "Node")}
    placed = s.placed()
    claims = {each["metadata"]["name"]: each for each in listed(s, "PersistentVolumeClaim")}
    volumes = {each["metadata"]["name"]: each for each in listed(s, "PersistentVolume")}
    assert len(placed) == len(volumes) == COUNT
    for name, node in placed.items():
        made = volumes[claims[name]["spec"]["volumeName"]]
        [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == [zones[node]]
        assert zones[node] in ("zone-a", "zone-b")
    assert max(list(placed.values()).count(node) for node in zones) <= LIMIT


async def test_claims_are_bound_and_then_their_pods(tmp_path):
    async with scene(tmp_path) as s, provisioning(s, delay=0.05):
        await prepare(s)
        await s.start(own_solver=True)
        await s.until_bound(COUNT)
        await s.until_solver_has_bound(COUNT)
        check_volumes(s)
        assert "Traceback" not in s.log("bridge") + s.log("solver")


async def test_the_bridge_is_killed_while_volumes_are_made(tmp_path):
    async with scene(tmp_path) as s:
        await prepare(s)
        await s.start()

        def chosen():
            return sum(
                SELECTED_NODE in each["metadata"].get("annotations", {})
                for each in listed(s, "PersistentVolumeClaim")
            )

        await until(lambda: chosen() >= COUNT // 2, within=SECONDS)
        s.stack.bridge.signal(signal.SIGKILL)
        assert await s.stack.bridge.wait() == -signal.SIGKILL
        assert s.count_bound() == 0
        async with provisioning(s, delay=0.2):
            await s.stack.start_bridge()
            await s.until_bound(COUNT)
            await s.until_solver_has_bound(COUNT)
        check_volumes(s)
        assert len(s.listed(PODS)) == COUNT


async def test_a_pod_waits_until_its_driver_has_room_for_its_volume(tmp_path):
    """What a driver can make comes and goes while both processes run."""
    lacking = "node(s) did not have enough free storage"
    async with scene(tmp_path) as s, provisioning(s, delay=0.05):
        await s.nodes(NODES)
        create_object(s.operations, csi_driver("disk.example.com"))
        create_object(s.operations, storage_class())
        for name in ("early", "late"):
            create_object(s.operations, claim(name, size="10Gi" if name == "early" else "50Gi"))
            create_object(s.operations, pod(name, cpu="10m", volumes=using(name)))
        create_object(
            s.operations,
            storage_capacity("a", "fast", {"matchLabels": {ZONE: "zone-a"}}, capacity="20Gi"),
        )
        await s.start(own_solver=True)
        await s.until_bound(1)
        await until(lambda: any(lacking in each["message"] for each in s.listed(EVENTS)), within=SECONDS)
        assert "early" in s.placed()
        create_object(
            s.operations,
            storage_capacity("b", "fast", {"matchLabels": {ZONE: "zone-b"}}, capacity="90Gi"),
        )
        await s.until_bound(2)
        zones = {each["metadata"]["name"]: each["metadata"]["labels"][ZONE] for each in listed(s, "Node")}
        placed = s.placed()
        assert (zones[placed["early"]], zones[placed["late"]]) == ("zone-a", "zone-b")
        s.check_sound()


async def test_a_more_important_pod_gets_the_claim_of_another(tmp_path):
    """The claim is for one pod at a time: its holder goes, and only then is the other one bound, on the same node."""
    async with stage(tmp_path, nodes=3) as on:
        create_object(on.scene.operations, storage_class())
        create_object(on.scene.operations, claim("c", volume="v", modes=("ReadWriteOncePod",)))
        create_object(on.scene.operations, volume("v", to="default/c"))
        on.pod(
            "low",
            cpu="1",
            stop="10",
            priorityClassName="low",
            volumes=using("c"),
            terminationGracePeriodSeconds=60,
        )
        await on.until(lambda: "low" in on.scene.placed())
        node = on.scene.placed()["low"]
        on.pod("equal", cpu="1", priorityClassName="low", volumes=using("c"))
        await on.until(lambda: on.scene.events("FailedScheduling")["equal"], "an equal one waits")
        on.pod("high", cpu="1", priorityClassName="high", volumes=using("c"))
        await on.until(lambda: "deletionTimestamp" in on.pods()["low"]["metadata"], "the holder has to go")
        await on.until(lambda: on.pods()["high"]["status"].get("nominatedNodeName") == node, "a node is kept")
        assert "high" not in on.scene.placed()
        on.now = 10.0
        await on.until(lambda: on.scene.placed() == {"high": node}, "the other one follows")
        assert all(status == 201 for _, status in on.scene.bindings)


async def test_a_pod_waits_until_the_volume_of_one_that_is_gone_is_detached(tmp_path):
    """The node attaches one volume of the driver; a disk without a claim counts like any."""
    driver = "ebs.csi.aws.com"
    async with scene(tmp_path) as s:
        [name] = await s.nodes(1)
        limits = csi_node(name)
        limits["spec"]["drivers"] = [{"name": driver, "nodeID": name, "allocatable": {"count": 1}}]
        for each in (limits, attachment("left", name, driver, handle="old")):
            create_object(s.operations, each)
        await s.start(own_solver=True)
        disk = [{"name": "data", "awsElasticBlockStore": {"volumeID": "new"}}]
        create_object(s.operations, pod("p", cpu="10m", volumes=disk))
        full = "node(s) exceed max volume count"
        await until(lambda: any(full in each["message"] for each in s.listed(EVENTS)), within=SECONDS)
        attachments = s.operations.registry.of_kind("storage.k8s.io/v1", "VolumeAttachment")
        assert attachments is not None
        s.operations.delete(attachments, "", "left")
        await s.until_bound(1)
        assert s.placed() == {"p": name}
