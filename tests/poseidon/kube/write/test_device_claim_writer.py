"""Writes to claims of devices, over HTTP, to a server that refuses whoever has seen an older version."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from poseidon.kube.api.devices import FINALIZER
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.media_types import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, DeviceClaimWriter, WriteEnd
from poseidon.kube.write.write_retries import RetryOptions
from tests.poseidon.devices.objects import allocation, claim
from tests.poseidon.kube.scripted_api import json, scripted, status
from tests.support.waiting import until

PATH = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"
A = PodRef("pod-a", "default", "a")
DEVICE = allocation("d0")
CONSUMER = {"resource": "pods", "name": "a", "uid": "pod-a"}


class Server:
    """Has one claim, and applies patches to it that name its version; ``meanwhile`` changes it before a patch."""

    def __init__(self, found):
        self.claim = msgspec.to_builtins(found)
        self.meanwhile = []

    async def __call__(self, request):
        if request.method == "GET":
            return json(self.claim)
        if self.meanwhile:
            self.meanwhile.pop()(self)
            self.bump()
        patch = msgspec.json.decode(await request.read())
        metadata = self.claim["metadata"]
        if patch["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            return status(409, "Conflict", "the object has been modified")
        metadata["finalizers"] = [*metadata.get("finalizers", ()), *patch["metadata"].get("finalizers", ())]
        told = self.claim.setdefault("status", {})
        told.update(patch.get("status", {}))
        for key in [key for key, value in told.items() if value is None]:
            del told[key]
        self.bump()
        return json(self.claim)

    def bump(self):
        metadata = self.claim["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)


@asynccontextmanager
async def writing(server):
    async def sleep(_):
        await asyncio.sleep(0)

    ended: list[WriteEnd] = []
    async with (
        scripted(server) as (api, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        environment = Environment(transport, random=Random(1), sleep=sleep)
        writer = DeviceClaimWriter(environment, ended.append, RetryOptions(attempts=3))
        running = asyncio.create_task(writer.run())

        async def write(request):
            ended.clear()
            writer.submit(request)
            await until(lambda: ended)
            return ended[0]

        try:
            yield write, api
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def paths(api):
    return [(method, path.removeprefix(PATH)) for method, path, _, _ in api.requests]


async def test_devices_are_written_once_the_claim_has_its_finalizer():
    server = Server(claim("c"))
    async with writing(server) as (write, api):
        end = await write(DeviceClaimWrite(claim("c"), DEVICE, (A,), ()))
    assert end.reason == ""
    assert paths(api) == [("PATCH", ""), ("PATCH", "/status")]
    forms = [headers["Content-Type"] for _, _, headers, _ in api.requests]
    assert forms == [STRATEGIC_MERGE_PATCH, MERGE_PATCH], "other finalizers stay, other pods are replaced"
    assert server.claim["metadata"]["finalizers"] == [FINALIZER]
    assert server.claim["status"] == {"allocation": DEVICE, "reservedFor": [CONSUMER]}
    assert (end.claim.metadata.resource_version, end.claim.status.allocation) == ("3", DEVICE)


async def test_a_claim_that_has_devices_is_only_reserved_and_needs_no_finalizer():
    found = claim("c", given=DEVICE, reserved=("b",))
    server = Server(found)
    async with writing(server) as (write, api):
        end = await write(DeviceClaimWrite(found, None, (A,), ()))
        assert paths(api) == [("PATCH", "/status")]
        assert [each.uid for each in end.claim.status.reserved_for] == ["pod-b", "pod-a"]
        await write(DeviceClaimWrite(end.claim, None, (), ("pod-a", "pod-b")))
    assert "finalizers" not in server.claim["metadata"] or not server.claim["metadata"]["finalizers"]
    assert server.claim["status"].keys() <= {"devices"}


async def test_a_finalizer_that_is_there_is_not_written_again():
    server = Server(claim("c"))
    async with writing(server) as (write, api):
        end = await write(DeviceClaimWrite(claim("c"), DEVICE, (A,), ()))
        end = await write(DeviceClaimWrite(end.claim, None, (), ("pod-a",)))
        await write(DeviceClaimWrite(end.claim, DEVICE, (A,), ()))
    assert paths(api) == [("PATCH", ""), *[("PATCH", "/status")] * 3]


async def test_what_is_as_it_should_be_is_not_written():
    found = claim("c", given=DEVICE, reserved=("a",))
    async with writing(Server(found)) as (write, api):
        end = await write(DeviceClaimWrite(claim("c"), DEVICE, (A,), (), read_first=True))
    assert (end.reason, end.claim.status.allocation) == ("", DEVICE)
    assert paths(api) == [("GET", "")]


async def test_a_change_by_others_is_read_and_kept():
    server = Server(claim("c", given=DEVICE))
    server.meanwhile.append(
        lambda it: it.claim["status"].update(reservedFor=[{**CONSUMER, "name": "b", "uid": "pod-b"}])
    )
    async with writing(server) as (write, api):
        end = await write(DeviceClaimWrite(claim("c", given=DEVICE), DEVICE, (A,), ()))
    assert end.reason == ""
    assert paths(api) == [("PATCH", "/status"), ("GET", ""), ("PATCH", "/status")]
    assert [each["uid"] for each in server.claim["status"]["reservedFor"]] == ["pod-b", "pod-a"]


async def test_a_change_that_makes_it_impossible_ends_it():
    server = Server(claim("c"))
    server.meanwhile.append(lambda it: it.claim.update(status={"allocation": allocation("d1")}))
    async with writing(server) as (write, _):
        end = await write(DeviceClaimWrite(claim("c"), DEVICE, (A,), ()))
    assert end.reason == 'resourceclaim "c" has got other devices meanwhile'
    assert not end.unsure


async def test_a_claim_without_devices_is_not_reserved():
    async with writing(Server(claim("c"))) as (write, api):
        end = await write(DeviceClaimWrite(claim("c"), None, (A,), ()))
    assert end.reason == 'resourceclaim "c" has lost its devices'
    assert paths(api) == []


async def test_one_that_never_stays_the_same_is_given_up():
    server = Server(claim("c", given=DEVICE))
    server.meanwhile += [lambda _: None] * 5
    async with writing(server) as (write, api):
        end = await write(DeviceClaimWrite(claim("c", given=DEVICE), None, (A,), ()))
    assert end.reason == 'resourceclaim "c" keeps changing'
    assert [method for method, _ in paths(api)] == ["PATCH", "GET"] * 5


@pytest.mark.parametrize(
    ("code", "reason", "unsure"), [(404, "NotFound", False), (403, "Forbidden", False), (503, "", True)]
)
async def test_a_refusal_says_whether_something_may_have_been_written(code, reason, unsure):
    async def refuse(_):
        return status(code, reason, "no")

    async with writing(refuse) as (write, _):
        end = await write(DeviceClaimWrite(claim("c", given=DEVICE), None, (A,), ()))
    assert end.reason.startswith('resourceclaim "c" ' + ("not found" if code == 404 else "cannot be written"))
    assert end.unsure is unsure
    assert end.claim is None


async def test_a_write_without_an_answer_may_have_been_made():
    async def cut(request):
        request.transport.abort()

    async with writing(cut) as (write, _):
        end = await write(DeviceClaimWrite(claim("c", given=DEVICE), None, (A,), ()))
    assert end.reason.startswith('resourceclaim "c" cannot be written')
    assert end.unsure


async def test_a_write_that_cannot_be_made_does_not_end_the_others():
    def instead(change, now):
        raise ValueError(f"no {change} at {now}")

    async with writing(Server(claim("c", given=DEVICE))) as (write, _):
        end = await write(DeviceClaimWrite(claim("c"), DEVICE, (A,), (), instead=instead))
        assert end.reason.startswith("cannot be written: ValueError")
        assert end.unsure
        assert (await write(DeviceClaimWrite(claim("c", given=DEVICE), None, (A,), ()))).reason == ""


async def test_a_refusal_of_a_change_ends_the_write_although_the_claim_can_be_read():
    async def refuse(request):
        return (
            json(msgspec.to_builtins(claim("c")))
            if request.method == "GET"
            else status(403, "Forbidden", "no")
        )

    async with writing(refuse) as (write, api):
        end = await write(DeviceClaimWrite(claim("c", given=DEVICE), None, (A,), ()))
        assert end.reason == 'resourceclaim "c" cannot be written: 403 Forbidden: no'
        assert [method for method, _ in paths(api)] == ["PATCH"]
        end = await write(DeviceClaimWrite(expected(), DEVICE, (A,), (), report=REPORT))
        assert end.reason == 'resourceclaim "c" cannot be written: 403 Forbidden: no'
        assert [method for method, _ in paths(api)] == ["PATCH", "POST"]


async def test_the_object_that_stands_for_a_claim_is_written_in_its_place():
    async def accept(_):
        return json({"metadata": {"name": "web", "resourceVersion": "9"}})

    def instead(change, now):
        return "/api/v1/namespaces/default/pods/web", {"said": change["reservedFor"], "at": now > 0}

    found = claim("c")
    async with writing(accept) as (write, api):
        end = await write(DeviceClaimWrite(found, DEVICE, (A,), (), instead=instead))
        again = await write(DeviceClaimWrite(end.claim, DEVICE, (A,), (), instead=instead))
    [(method, path, _, body)] = api.requests
    assert (method, path) == ("PATCH", "/api/v1/namespaces/default/pods/web")
    assert msgspec.json.decode(body) == {"said": [CONSUMER], "at": True}
    assert (end.claim.metadata.resource_version, end.claim.status.allocation) == ("9", DEVICE)
    assert (again.reason, again.claim) == ("", end.claim)


class Creating(Server):
    """Has no claim at first, unless one is given; also takes what is said of pods."""

    def __init__(self, found=None):
        super().__init__(found or claim("c", owner="a"))
        self.there = found is not None
        self.created, self.reports = 0, []

    async def __call__(self, request):
        if request.path.startswith("/api/v1/"):
            self.reports.append((request.path, msgspec.json.decode(await request.read())))
            return json({})
        if request.method == "POST":
            if self.there:
                return status(409, "AlreadyExists", "it exists already")
            self.there, self.created = True, self.created + 1
            self.body = msgspec.json.decode(await request.read())
            return json(self.claim)
        return await super().__call__(request) if self.there else status(404, "NotFound", "no such claim")


REPORT: tuple[str, dict[str, Any]] = (
    "/api/v1/namespaces/default/pods/a/status",
    {"status": {"extendedResourceClaimStatus": {}}},
)


def expected():
    found = claim("c", owner="a")
    return replace(found, metadata=replace(found.metadata, uid=""))


async def test_a_claim_that_does_not_exist_is_created_then_written_then_named_in_the_pods_status():
    server = Creating()
    async with writing(server) as (write, _):
        end = await write(DeviceClaimWrite(expected(), DEVICE, (A,), (), report=REPORT))
    assert (end.reason, end.write.claim.metadata.uid) == ("", "")
    assert end.claim.metadata.uid == "claim-c"
    assert server.body["metadata"]["ownerReferences"][0]["uid"] == "pod-a"
    assert server.claim["status"]["reservedFor"] == [CONSUMER]
    assert server.reports == [REPORT]


async def test_a_claim_that_is_given_back_is_named_nowhere():
    server = Creating(claim("c", owner="a", given=DEVICE, reserved=("a",)))
    async with writing(server) as (write, _):
        end = await write(DeviceClaimWrite(expected(), None, (), ("pod-a",), report=REPORT))
    assert (end.reason, server.reports) == ("", [])
    assert not server.claim["status"].get("reservedFor")


async def test_a_claim_that_an_earlier_attempt_has_created_is_used():
    server = Creating(claim("c", owner="a"))
    async with writing(server) as (write, _):
        end = await write(DeviceClaimWrite(expected(), DEVICE, (A,), (), report=REPORT))
    assert (end.reason, server.created) == ("", 0)
    assert server.claim["status"]["allocation"] == DEVICE


async def test_a_claim_of_that_name_that_is_another_pods_is_left_alone():
    server = Creating(claim("c", owner="b"))
    async with writing(server) as (write, _):
        end = await write(DeviceClaimWrite(expected(), DEVICE, (A,), (), report=REPORT))
    assert end.reason == 'resourceclaim "c" exists already, and is not this pod\'s'
    assert not server.claim.get("status", {}).get("allocation")
    assert server.reports == []


async def test_no_claim_is_created_only_to_be_given_back():
    server = Creating()
    async with writing(server) as (write, _):
        end = await write(DeviceClaimWrite(expected(), None, (), ("pod-a",)))
    assert end.reason == 'resourceclaim "c" not found'
    assert server.created == 0
