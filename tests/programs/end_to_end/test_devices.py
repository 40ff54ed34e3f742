"""Both processes with claims of devices, also when either of them dies in between: nobody has a device twice."""

from __future__ import annotations

import asyncio
import signal
from contextlib import asynccontextmanager

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.device_claims import ClaimSimulation, is_prepared
from poseidon.testbed.controllers.device_driver import DeviceOracle, DriverSimulation, list_results
from poseidon.testbed.objects.resources import PODS
from tests.programs.end_to_end.scene import SECONDS, names, scene
from tests.support.cluster import pod
from tests.support.device_objects import (
    V1,
    claim_template,
    device_claim,
    device_class,
    node_with_devices,
    pod_with_device,
)
from tests.support.waiting import until

NODES, DEVICES, COUNT = 10, 4, 30


class Stage:
    """A scene with devices, and an oracle that sees every change of every claim."""

    def __init__(self, found):
        self.scene, self.store = found, found.operations.store
        self.oracle = DeviceOracle(self.store)

    def create(self, *objects):
        for each in objects:
            create_object(self.scene.operations, each)

    def claims(self):
        return self.scene.listed(self.scene.operations.registry.of_kind(V1, "ResourceClaim"))

    def allocated(self):
        return [each for each in self.claims() if list_results(each)]

    def check(self, bound):
        """Each pod on a node has its devices there, nobody else has them, and no claim has any for nobody."""
        assert {count for (_, status), count in self.scene.bindings.items() if status == 201} == {1}
        self.oracle.advance(0.0)
        assert self.oracle.faults == []
        on_nodes = [each for each in self.scene.listed(PODS) if each["spec"].get("nodeName")]
        assert len(on_nodes) == bound
        assert all(is_prepared(self.store, each) for each in on_nodes)
        uids = {each["metadata"]["uid"]: each["spec"]["nodeName"] for each in on_nodes}
        for each in self.allocated():
            users = [consumer["uid"] for consumer in each["status"]["reservedFor"]]
            assert users
            assert {uids[uid] for uid in users} == {result["pool"] for result in list_results(each)}


@asynccontextmanager
async def stage(tmp_path, count=COUNT):
    async with scene(tmp_path) as s:
        on = Stage(s)
        running = [asyncio.create_task(drive(each(on.store))) for each in (ClaimSimulation, DriverSimulation)]
        on.create(*(node_with_devices(f"n{index}", DEVICES) for index in range(NODES)))
        on.create(device_class(), claim_template(), *map(pod_with_device, names("p", count)))
        try:
            yield on
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)


async def test_claims_get_devices_and_then_their_pods_are_bound(tmp_path):
    async with stage(tmp_path) as on:
        on.create(device_claim("shared"), *(pod_with_device(each, claim="shared") for each in names("s", 3)))
        await on.scene.start(own_solver=True)
        await on.scene.until_bound(COUNT + 3)
        on.check(COUNT + 3)
        shared = next(each for each in on.claims() if each["metadata"]["name"] == "shared")
        assert len(shared["status"]["reservedFor"]) == 3
        assert "Traceback" not in on.scene.log("bridge") + on.scene.log("solver")


@pytest.mark.parametrize("program", ["bridge", "solver"])
async def test_a_program_is_killed_while_claims_are_written(tmp_path, program):
    async with stage(tmp_path) as on:
        # Bindings fail, so that claims are written whose pods are not bound.
        on.scene.cluster.faults.add(
            Fault(".*/binding", "POST", times=COUNT // 2, code=503, reason="Unavailable")
        )
        await on.scene.start(own_solver=True)
        await until(lambda: len(on.allocated()) >= COUNT // 3, within=SECONDS)
        child = getattr(on.scene.stack, program)
        child.signal(signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        await getattr(on.scene.stack, f"start_{program}")()
        await on.scene.until_bound(COUNT)
        on.check(COUNT)


async def test_writes_that_fail_or_find_another_version_lose_nothing(tmp_path):
    async with stage(tmp_path) as on:
        faults = on.scene.cluster.faults
        faults.add(Fault(".*/resourceclaims/.*", "PATCH", times=10, code=409, reason="Conflict"))
        faults.add(Fault(".*/resourceclaims/.*/status", "PATCH", times=8, cut=True, after=True))
        await on.scene.start(own_solver=True)
        await on.scene.until_bound(COUNT)
        on.check(COUNT)


async def test_pods_take_turns_with_devices_that_are_too_few(tmp_path):
    total = NODES * DEVICES
    async with stage(tmp_path, count=total + 5) as on:
        await on.scene.start(own_solver=True)
        await on.scene.until_bound(total)
        on.check(total)
        for each in [each for each in on.scene.listed(PODS) if each["spec"].get("nodeName")][:5]:
            on.scene.operations.delete(PODS, "default", each["metadata"]["name"])
        await on.scene.until_bound(total)
        on.check(total)


async def test_pods_that_ask_for_an_extended_resource_get_claims_made_for_them(tmp_path):
    async with stage(tmp_path, count=0) as on:
        provides = device_class("provides")
        provides["spec"]["extendedResourceName"] = "example.com/device"
        asking = [pod(each) for each in names("e", 3)]
        for each in asking:
            each["spec"]["containers"][0]["resources"]["requests"]["example.com/device"] = "2"
        on.create(provides, *asking)
        await on.scene.start(own_solver=True)
        await on.scene.until_bound(3)
        on.check(3)
        claims = {each["metadata"]["name"]: each for each in on.claims()}
        for each in on.scene.listed(PODS):
            said = each["status"]["extendedResourceClaimStatus"]
            [mapping] = said["requestMappings"]
            assert len(list_results(claims[said["resourceClaimName"]])) == 2
            assert mapping == {
                "containerName": each["spec"]["containers"][0]["name"],
                "resourceName": "example.com/device",
                "requestName": "container-0-request-1",
            }
