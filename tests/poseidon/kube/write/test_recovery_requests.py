"""Requests of a recovery, one by one: what is deleted and created, what ends it, and how long it goes on."""

from __future__ import annotations

import asyncio
import copy
import json
from random import Random
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.errors import ApiError, KubeError, UnreachableError
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.pod_recovery import PodRecovery, make_successor
from tests.support.waiting import until

POD = PodRef("uid", "ns", "p" * 60)
COUNT = "example.com/count"
FOUND: dict[str, Any] = {
    "metadata": {"name": POD.name, "namespace": "ns", "uid": "uid", "labels": {"a": "b"}},
    "spec": {"nodeName": "n1", "priority": 7, "preemptionPolicy": "Never", "containers": [{"name": "c"}]},
    "status": {"phase": "Failed"},
}

GONE = ApiError(404, "NotFound", "pods p not found")
REPLACED = ApiError(409, "Conflict", "Precondition failed: UID in precondition: a, UID in object meta: b")
BUSY = ApiError(429, "TooManyRequests", "busy", retry_after=7.0)
DOWN = ApiError(503, "ServiceUnavailable", "down")
LOST = UnreachableError("reset")
FORBIDDEN = ApiError(403, "Forbidden", "no")
EXISTS = ApiError(409, "AlreadyExists", 'pods "p" already exists')
OUTRUN = ApiError(409, "Conflict", "the object has been modified; please apply your changes")


class Api:
    """Has one pod. Raises the given errors in turn, by what is asked: ``check``, ``evict``, ``create``."""

    def __init__(self, found: dict[str, Any] | None, **faults: list[KubeError]) -> None:
        self.found = found
        self.faults = faults
        self.asked: list[tuple[str, Any]] = []

    async def find(self, _path: str) -> bytes | None:
        return json.dumps(self.found).encode() if self.found is not None else None

    async def post(self, path: str, body: bytes) -> bytes:
        what = (
            "check" if path.endswith("?dryRun=All") else "evict" if path.endswith("/eviction") else "create"
        )
        self.asked.append((what, json.loads(body)))
        await asyncio.sleep(0)
        if faults := self.faults.get(what):
            raise faults.pop(0)
        return b"{}"


class Scene:
    """A recovery before an API."""

    def __init__(self, found: dict[str, Any] | None = FOUND, **faults: list[KubeError]) -> None:
        self.api = Api(found, **faults)
        self.slept: list[float] = []
        self.registry = CollectorRegistry()
        environment = Environment(
            cast(Transport, self.api), KubeMetrics(self.registry), Random(1), sleep=self.sleep
        )
        self.recovery = PodRecovery(environment, COUNT)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def counted(self) -> str:
        found = [
            sample.labels["result"]
            for metric in self.registry.collect()
            for sample in metric.samples
            if sample.name == "poseidon_pod_recoveries_total" and sample.value
        ]
        return "".join(found)

    async def run(self) -> str:
        """Carry out what was asked for; return the result."""
        running = asyncio.create_task(self.recovery.run())
        await until(self.counted)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return self.counted()

    @property
    def asked(self) -> list[str]:
        return [what for what, _ in self.api.asked]


ALL = ["check", "evict", "create"]


@pytest.mark.parametrize(
    ("faults", "result", "asked"),
    [
        ({}, "recreated", ALL),
        ({"check": [FORBIDDEN]}, "failed", ["check"]),
        ({"check": [DOWN]}, "recreated", ["check", *ALL]),
        ({"evict": [GONE]}, "obsolete", ["check", "evict"]),
        ({"evict": [REPLACED]}, "obsolete", ["check", "evict"]),
        ({"evict": [LOST, GONE]}, "recreated", ["check", "evict", "evict", "create"]),
        ({"evict": [DOWN, GONE]}, "recreated", ["check", "evict", "evict", "create"]),
        ({"evict": [LOST, REPLACED]}, "obsolete", ["check", "evict", "evict"]),
        ({"evict": [OUTRUN, GONE]}, "obsolete", ["check", "evict", "evict"]),
        ({"evict": [FORBIDDEN]}, "failed", ["check", "evict"]),
        ({"create": [EXISTS]}, "recreated", ALL),
        ({"create": [LOST, DOWN, BUSY]}, "recreated", [*ALL, *["create"] * 3]),
        ({"create": [FORBIDDEN] * 59}, "recreated", [*ALL, *["create"] * 59]),
        ({"create": [FORBIDDEN] * 60}, "lost", [*ALL, *["create"] * 59]),
        ({"create": [DOWN, OUTRUN] * 60}, "recreated", [*ALL, *["create"] * 120]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_becomes_of_a_pod_that_is_created_again(faults, result, asked):
    scene = Scene(**faults)
    scene.recovery.recreate(POD, 2, 0.0)
    assert (await scene.run(), scene.asked) == (result, asked)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {**FOUND["metadata"], "uid": "another"}},
        {"metadata": {**FOUND["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"status": {"phase": "Running"}},
        {"status": None},
    ],
)
async def test_a_pod_that_is_another_or_does_better_is_left_alone(change):
    scene = Scene({**copy.deepcopy(FOUND), **change})
    scene.recovery.recreate(POD, 1, 0.0)
    assert (await scene.run(), scene.asked) == ("obsolete", [])


async def test_the_pod_is_checked_under_another_name_then_deleted_at_once_and_created():
    scene = Scene()
    scene.recovery.recreate(POD, 2, 3.0)
    await scene.run()
    assert scene.slept == [3.0]
    (_, check), (_, evict), (_, create) = scene.api.asked
    assert "name" not in check["metadata"]
    assert check["metadata"]["generateName"] == "p" * 50 + "-"
    assert evict["deleteOptions"] == {"gracePeriodSeconds": 0, "preconditions": {"uid": "uid"}}
    assert create["metadata"] == {
        "name": POD.name,
        "namespace": "ns",
        "labels": {"a": "b"},
        "annotations": {COUNT: "2"},
    }
    assert create["spec"] == {"containers": [{"name": "c"}]}


async def test_a_server_that_asks_for_a_pause_gets_it():
    scene = Scene(create=[BUSY])
    scene.recovery.recreate(POD, 1, 0.0)
    await scene.run()
    assert scene.slept == [0.0, 7.0]


async def test_nothing_is_settled_while_a_pod_is_deleted_and_not_created_yet():
    scene = Scene(create=[DOWN])
    settled: list[bool] = []

    async def sleep(seconds: float) -> None:
        waiting = asyncio.create_task(scene.recovery.wait_settled())
        await asyncio.sleep(0)
        settled.append(waiting.done())
        waiting.cancel()

    scene.recovery._sleep = sleep
    scene.recovery.recreate(POD, 1, 0.0)
    await scene.run()
    assert settled == [True, False]
    await asyncio.wait_for(scene.recovery.wait_settled(), 10)


@pytest.mark.parametrize(("fault", "result"), [(None, "deleted"), (GONE, "obsolete"), (REPLACED, "obsolete")])
async def test_a_pod_that_was_replaced_is_only_deleted(fault, result):
    scene = Scene(evict=[fault] if fault is not None else [])
    scene.recovery.delete(POD)
    assert (await scene.run(), scene.asked) == (result, ["evict"])


def test_owners_stay_those_of_the_successor():
    owners = [{"kind": "Job", "name": "j"}]
    made = make_successor({**FOUND, "metadata": {**FOUND["metadata"], "ownerReferences": owners}}, {})
    assert made["metadata"]["ownerReferences"] == owners
