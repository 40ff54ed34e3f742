"""Evictions over HTTP: what budgets, namesakes and a troubled server make of them."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest, Evictor
from poseidon.kube.write.write_retries import RetryOptions
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.api_server.options import ClusterOptions
from tests.support.cluster import pod, running_cluster
from tests.support.time_limits import stretch
from tests.support.waiting import until

PODS = "/api/v1/namespaces/default/pods"
QUICK = RetryOptions(attempts=3, backoff_initial=0.001, backoff_cap=0.01, throttled_seconds=5.0)


class Scene:
    def __init__(self, cluster, transport):
        self.cluster, self.transport = cluster, transport
        self.outcomes: asyncio.Queue[Any] = asyncio.Queue()
        self.registry = CollectorRegistry()
        self.slept = []
        environment = Environment(transport, KubeMetrics(self.registry), Random(1), sleep=self.sleep)
        self.evictor = Evictor(environment, self.outcomes.put_nowait, QUICK)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        await asyncio.sleep(0)

    async def create(self, path, found):
        return msgspec.json.decode(await self.transport.post(path, msgspec.json.encode(found)))

    async def running(self, name, **labels):
        """Create a pod that runs and is ready; returns its uid."""
        await self.create(
            "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n-{name}"}}
        )
        found = pod(name, nodeName=f"n-{name}")
        found["metadata"]["labels"] = labels
        made = await self.create(PODS, found)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.transport.patch(f"{PODS}/{name}/status", msgspec.json.encode({"status": status}))
        return made["metadata"]["uid"]

    async def budget(self, name, least, **labels):
        await self.create(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name},
                "spec": {"minAvailable": least, "selector": {"matchLabels": labels}},
            },
        )

    async def evict(self, name, uid, *, beyond=False):
        self.evictor.submit(EvictionRequest(PodRef(uid, "default", name), f"n-{name}", beyond, "make way"))
        return await asyncio.wait_for(self.outcomes.get(), stretch(10))

    async def pods(self):
        listed = msgspec.json.decode(await self.transport.get("/api/v1/pods"))["items"]
        return {each["metadata"]["name"]: each for each in listed}


@asynccontextmanager
async def setting(**options):
    async with (
        running_cluster(ClusterOptions(**options)) as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        scene = Scene(cluster, transport)
        work = asyncio.create_task(scene.evictor.run())
        try:
            yield scene
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def test_a_pod_keeps_its_grace_period():
    async with setting(graceful=True) as scene:
        uid = await scene.running("a")
        assert (await scene.evict("a", uid)).refusal == ""
        metadata = (await scene.pods())["a"]["metadata"]
        assert metadata["deletionTimestamp"]
        assert metadata["deletionGracePeriodSeconds"] == 30


async def test_a_budget_refuses_and_only_a_way_beyond_it_helps():
    async with setting(graceful=True) as scene:
        uid = await scene.running("a", app="web")
        await scene.budget("web", 1, app="web")
        outcome = await scene.evict("a", uid)
        assert outcome.refusal == "Cannot evict pod as it would violate the pod's disruption budget."
        assert "deletionTimestamp" not in (await scene.pods())["a"]["metadata"]
        assert (await scene.evict("a", uid, beyond=True)).refusal == ""
        found = (await scene.pods())["a"]
        assert found["metadata"]["deletionGracePeriodSeconds"] == 30
        told = {each["type"]: each for each in found["status"]["conditions"]}["DisruptionTarget"]
        assert (told["reason"], told["message"]) == ("PreemptionByScheduler", "make way")


async def test_several_budgets_that_all_allow_it_are_no_obstacle():
    async with setting() as scene:
        uid = await scene.running("a", app="web")
        await scene.running("b", app="web")
        await scene.budget("one", 1, app="web")
        await scene.budget("two", 1, app="web")
        assert (await scene.evict("a", uid)).refusal == ""
        assert set(await scene.pods()) == {"b"}


@pytest.mark.parametrize("beyond", [False, True])
async def test_a_namesake_is_left_alone_and_one_that_is_gone_counts_as_evicted(beyond):
    async with setting() as scene:
        await scene.running("a")
        assert (await scene.evict("a", "some-other-uid", beyond=beyond)).refusal == ""
        assert "deletionTimestamp" not in (await scene.pods())["a"]["metadata"]
        outcome = await scene.evict("never", "uid", beyond=beyond)
        assert (outcome.refusal, outcome.gone) == ("", True)


async def test_a_server_in_trouble_is_asked_again():
    async with setting() as scene:
        uid = await scene.running("a")
        fault = scene.cluster.faults.add(Fault(".*/eviction", times=2, code=503, reason="ServiceUnavailable"))
        assert (await scene.evict("a", uid)).refusal == ""
        assert fault.hits == len(scene.slept) == 2
        assert min(scene.slept) > 0
        assert await scene.pods() == {}


@pytest.mark.parametrize("beyond", [False, True])
async def test_a_write_that_came_in_between_does_not_count_as_the_end_of_the_pod(beyond):
    words = 'Operation cannot be fulfilled on pods "a": the object has been modified'
    async with setting() as scene:
        uid = await scene.running("a")
        fault = scene.cluster.faults.add(
            Fault(".*/(eviction|status)", times=2, code=409, reason="Conflict", message=words)
        )
        outcome = await scene.evict("a", uid, beyond=beyond)
        assert (outcome.refusal, outcome.gone, fault.hits) == ("", False, 2)
        assert await scene.pods() == {}
        uid = await scene.running("b")
        fault.times = None
        outcome = await scene.evict("b", uid, beyond=beyond)
        assert words in outcome.refusal
        assert set(await scene.pods()) == {"b"}


async def test_an_answer_that_is_lost_does_no_harm():
    async with setting() as scene:
        uid = await scene.running("a")
        scene.cluster.faults.add(Fault(".*/eviction", times=1, after=True, cut=True))
        assert (await scene.evict("a", uid)).refusal == ""
        assert await scene.pods() == {}


async def test_what_the_server_refuses_for_good_is_reported():
    async with setting() as scene:
        uid = await scene.running("a")
        fault = scene.cluster.faults.add(
            Fault(".*/eviction", code=403, reason="Forbidden", message="may not evict")
        )
        assert (await scene.evict("a", uid)).refusal == "403 Forbidden: may not evict"
        assert fault.hits == 1
        fault.code, fault.reason = 500, "InternalError"
        assert "InternalError" in (await scene.evict("a", uid)).refusal
        assert fault.hits == 1 + QUICK.attempts
        assert scene.registry.get_sample_value("poseidon_evictions_total", {"result": "refused"}) == 2.0


class Pair:
    """Two pods that leave together. The server has not answered yet; it is too busy for the second one."""

    def __init__(self, scene, **fault):
        self.scene = scene
        busy = {"code": 429, "reason": "TooManyRequests"}
        self.faults = [
            scene.cluster.faults.add(Fault(f".*/{name}/eviction", times=1, hold=True, **each))
            for name, each in (("a", fault), ("b", busy))
        ]

    async def begin(self):
        """Have both evicted."""
        self.uids = [await self.scene.running(name) for name in "ab"]
        for name, uid in zip("ab", self.uids, strict=True):
            found = PodRef(uid, "default", name)
            self.scene.evictor.submit(EvictionRequest(found, "n", False, "make way", "gang, round 1"))
        await until(lambda: all(each.hits for each in self.faults), within=10)

    async def end(self, *withdrawn):
        """Withdraw some, let the server answer, and return why pods stayed, and which did."""
        for at in withdrawn:
            self.scene.evictor.withdraw(self.uids[at])
        for each in self.faults:
            each.release()
        found = [await asyncio.wait_for(self.scene.outcomes.get(), stretch(10)) for _ in self.uids]
        why = {each.request.pod.name: each.refusal for each in found}
        return why, set(await self.scene.pods())


WITHDRAWN = "nobody needs its place any more"


@pytest.mark.parametrize(
    ("fault", "withdrawn", "staying"),
    [
        pytest.param({}, (0, 1), set(), id="one has left"),
        pytest.param({"after": True, "cut": True}, (0, 1), set(), id="one may have left"),
        pytest.param({"code": 500, "reason": "InternalError"}, (0, 1), {"a", "b"}, id="none has left"),
        pytest.param({"code": 500, "reason": "InternalError"}, (1,), set(), id="one is still to go"),
    ],
)
async def test_pods_that_leave_together_stay_only_if_all_can(fault, withdrawn, staying):
    async with setting() as scene:
        pair = Pair(scene, **fault)
        await pair.begin()
        why, there = await pair.end(*withdrawn)
        assert there == staying
        assert why == {name: WITHDRAWN if name in staying else "" for name in "ab"}


async def test_what_has_not_been_asked_yet_can_be_withdrawn():
    async with setting() as scene:
        uid = await scene.running("a")
        busy = scene.cluster.faults.add(Fault(".*/eviction", "POST", times=1, hold=True, code=500))
        request = EvictionRequest(PodRef(uid, "default", "a"), "n-a", False, "make way")
        scene.evictor.submit(request)
        await until(lambda: busy.hits > 0, within=10)
        scene.evictor.withdraw(uid)
        busy.release()
        outcome = await asyncio.wait_for(scene.outcomes.get(), stretch(10))
        assert outcome == EvictionOutcome(request, "nobody needs its place any more")
        assert set(await scene.pods()) == {"a"}
        scene.evictor.withdraw(uid)
        assert (await scene.evict("a", uid)).refusal == ""
