"""Requests for evictions, one by one: what is sent, which refusals are final, and what is counted."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.errors import ApiError, KubeError, UnreachableError
from poseidon.kube.client.media_types import STRATEGIC_MERGE_PATCH
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.evictor import (
    EvictionOutcome,
    EvictionRequest,
    Evictor,
    is_budget_refusal,
    post_eviction,
)
from poseidon.kube.write.write_retries import RetryOptions

POD = "/api/v1/namespaces/ns/pods/p"
WITHDRAWN = "nobody needs its place any more"
BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Api:
    """Raises the given errors, one for each request, and then accepts; notes what was asked."""

    def __init__(self, *faults: KubeError) -> None:
        self.faults = list(faults)
        self.asked: list[tuple[str, str, Any]] = []

    async def _take(self, method: str, path: str, body: bytes) -> bytes:
        self.asked.append((method, path, json.loads(body)))
        await asyncio.sleep(0)
        if self.faults:
            raise self.faults.pop(0)
        return b"{}"

    async def post(self, path: str, body: bytes) -> bytes:
        return await self._take("POST", path, body)

    async def delete(self, path: str, body: bytes) -> bytes:
        return await self._take("DELETE", path, body)

    async def patch(self, path: str, body: bytes, form: str) -> bytes:
        assert form == STRATEGIC_MERGE_PATCH
        return await self._take("PATCH", path, body)


class Scene:
    """An evictor of three attempts, before an API."""

    def __init__(self, *faults: KubeError) -> None:
        self.api = Api(*faults)
        self.registry = CollectorRegistry()
        self.outcomes: list[EvictionOutcome] = []
        self.slept: list[float] = []
        environment = Environment(
            cast(Transport, self.api),
            KubeMetrics(self.registry),
            Random(1),
            clock=lambda: 0.0,
            wall=lambda: 1_767_268_800.0,
            sleep=self.sleep,
        )
        self.evictor = Evictor(environment, self.outcomes.append, RetryOptions(attempts=3))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    async def work(self) -> None:
        running = asyncio.create_task(self.evictor.run())
        await self.evictor.wait_idle()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    def counted(self) -> dict[str, float]:
        results = ("accepted", "refused", "withdrawn")
        found = {
            each: self.registry.get_sample_value("poseidon_evictions_total", {"result": each})
            for each in results
        }
        return {each: count for each, count in found.items() if count}


def request(name: str = "p", *, beyond: bool = False, together: str = "") -> EvictionRequest:
    return EvictionRequest(PodRef(f"uid-{name}", "ns", name), "n1", beyond, "make way", together)


@pytest.mark.parametrize(
    ("fault", "refusal", "requests", "counted"),
    [
        (None, "", 1, "accepted"),
        (ApiError(404, "NotFound", "pods p not found"), "", 1, "accepted"),
        (ApiError(429, "TooManyRequests", BUDGET), BUDGET, 1, "refused"),
        (ApiError(429, "TooManyRequests", "busy"), "", 2, "accepted"),
        (ApiError(403, "Forbidden", BUDGET), f"403 Forbidden: {BUDGET}", 1, "refused"),
        (ApiError(409, "Conflict", "the object has been modified; please apply"), "", 2, "accepted"),
        (UnreachableError("reset"), "", 2, "accepted"),
        (ApiError(500, "InternalError", SEVERAL), "", 3, "accepted"),
    ],
    ids=[
        "accepted",
        "gone",
        "budget",
        "busy",
        "forbidden",
        "another write",
        "unreachable",
        "several budgets",
    ],
)
async def test_which_refusals_of_an_eviction_are_final(fault, refusal, requests, counted):
    scene = Scene(*filter(None, [fault]))
    scene.evictor.submit(request())
    await scene.work()
    assert [each.refusal for each in scene.outcomes] == [refusal]
    assert (len(scene.api.asked), scene.counted()) == (requests, {counted: 1})


async def test_a_server_that_never_recovers_is_asked_so_often():
    scene = Scene(*[ApiError(500, "InternalError", SEVERAL)] * 9)
    scene.evictor.submit(request(beyond=True))
    await scene.work()
    assert scene.outcomes == [EvictionOutcome(request(beyond=True), f"500 InternalError: {SEVERAL}")]
    assert (len(scene.api.asked), len(scene.slept)) == (3, 2)


async def test_beyond_budgets_the_pod_is_told_why_and_deleted():
    scene = Scene()
    scene.evictor.submit(request(beyond=True))
    await scene.work()
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "make way",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
    told = {"metadata": {"uid": "uid-p"}, "status": {"conditions": [condition]}}
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-p"}}
    assert scene.api.asked == [("PATCH", f"{POD}/status", told), ("DELETE", POD, options)]


async def test_an_eviction_is_of_one_pod_and_may_have_options():
    api = Api()
    await post_eviction(cast(Transport, api), request().pod, gracePeriodSeconds=0)
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": "ns"},
        "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "uid-p"}},
    }
    assert api.asked == [("POST", f"{POD}/eviction", body)]


async def test_what_is_withdrawn_before_it_is_asked_is_not_asked():
    scene = Scene()
    scene.evictor.submit(request("a"))
    scene.evictor.submit(request("b"))
    scene.evictor.withdraw("uid-a")
    await scene.work()
    assert {each.request.pod.name: each.refusal for each in scene.outcomes} == {"a": WITHDRAWN, "b": ""}
    assert (len(scene.api.asked), scene.counted()) == (1, {"accepted": 1, "withdrawn": 1})


@pytest.mark.parametrize(("withdrawn", "staying"), [("", ""), ("a", ""), ("ab", "ab")])
async def test_pods_that_leave_together_are_all_asked_unless_all_are_withdrawn(withdrawn, staying):
    scene = Scene()
    for turn in range(2):  # what has become of the first pods says nothing about the next
        for name in "ab":
            scene.evictor.submit(request(f"{name}{turn}", together="gang"))
        for name in withdrawn if turn else "":
            scene.evictor.withdraw(f"uid-{name}{turn}")
        await scene.work()
    expected = {
        f"{name}{turn}": WITHDRAWN if turn and name in staying else "" for name in "ab" for turn in range(2)
    }
    assert {each.request.pod.name: each.refusal for each in scene.outcomes} == expected


@pytest.mark.parametrize(
    ("code", "message", "is_one"),
    [(429, BUDGET, True), (429, "busy", False), (403, BUDGET, False)],
)
def test_a_budget_refuses_with_its_code_and_its_words(code, message, is_one):
    assert is_budget_refusal(ApiError(code, "", message)) is is_one
