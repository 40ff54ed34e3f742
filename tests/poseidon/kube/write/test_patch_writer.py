"""Patches in a queue: those about one object are merged, and a bound pod needs no nomination."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.metadata import Condition, PodRef
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.patch_writer import (
    GroupConditionWrite,
    GroupConditionWriter,
    LabelWrite,
    NominatedNodeWrite,
    PatchWriter,
    QueueStatusWrite,
    QueueStatusWriter,
)

POD = PodRef("u", "ns", "p")
BOUND = "nominatedNodeName: Invalid value: already bound to a node"


class Api:
    """Raises an error, if one is given, and notes what was asked."""

    def __init__(self, fault: KubeError | None = None) -> None:
        self.fault = fault
        self.asked: list[tuple[str, Any]] = []

    async def patch(self, path: str, body: bytes, _form: str) -> bytes:
        self.asked.append((path, json.loads(body)))
        await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault
        return b"{}"


async def quiet() -> None:
    """Return at once: no binding waits."""


def environment(api: Api, registry: CollectorRegistry | None = None) -> Environment:
    metrics = KubeMetrics(registry if registry is not None else CollectorRegistry())
    return Environment(cast(Transport, api), metrics, Random(1))


async def drain(writer: PatchWriter) -> None:
    running = asyncio.create_task(writer.run())
    await writer.wait_drained()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_waits_about_one_object_is_written_at_once():
    api = Api()
    writer = PatchWriter("label", environment(api), quiet)
    writer.submit(LabelWrite(POD, {"a": "1", "b": "1"}))
    writer.submit(LabelWrite(POD, {"b": "2"}))
    writer.submit(LabelWrite(PodRef("v", "ns", "q"), {"c": "3"}))
    await drain(writer)
    found = {path.rpartition("/")[2]: body["metadata"]["labels"] for path, body in api.asked}
    assert found == {"p": {"a": "1", "b": "2"}, "q": {"c": "3"}}


@pytest.mark.parametrize(
    ("fault", "result"),
    [
        (None, "written"),
        (ApiError(422, "Invalid", BOUND), "written"),
        (ApiError(422, "Invalid", "nodeName: Invalid value"), "failed"),
        (ApiError(403, "Forbidden", BOUND), "failed"),
        (ApiError(404, "NotFound", "pods p not found"), "obsolete"),
    ],
)
async def test_which_refusals_of_a_nomination_are_none(fault, result):
    registry = CollectorRegistry()
    writer = PatchWriter("nomination", environment(Api(fault), registry), quiet)
    writer.submit(NominatedNodeWrite(POD, "n1"))
    await drain(writer)
    counts = {
        each: registry.get_sample_value(
            "poseidon_status_writes_total", {"kind": "nomination", "result": each}
        )
        for each in ("written", "failed", "obsolete")
    }
    assert {each for each, count in counts.items() if count} == {result}


async def test_statuses_are_written_where_the_objects_are_served():
    api = Api()
    groups = GroupConditionWriter(
        lambda: "/apis/scheduling.k8s.io/v1alpha2/podgroups", environment(api), quiet
    )
    groups.submit(GroupConditionWrite("g", "ns", "g", Condition(type="PodGroupScheduled", status="True")))
    await drain(groups)
    queues = QueueStatusWriter(lambda path: path.replace("v1beta2", "v1beta1"), environment(api), quiet)
    queues.submit(QueueStatusWrite("q", "/apis/kueue.x-k8s.io/v1beta2/localqueues", "ns", "q", {"a": 1}))
    await drain(queues)
    assert [path for path, _ in api.asked] == [
        "/apis/scheduling.k8s.io/v1alpha2/namespaces/ns/podgroups/g/status",
        "/apis/kueue.x-k8s.io/v1beta1/namespaces/ns/localqueues/q/status",
    ]
    condition = {"type": "PodGroupScheduled", "status": "True", "reason": "", "message": ""}
    assert api.asked[0][1]["status"]["conditions"] == [condition]
