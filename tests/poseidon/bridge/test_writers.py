"""Actions go to their writers, and what comes of them to the state; in a dry run they are only logged."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.state import BridgeState
from poseidon.bridge.writers import Writers
from poseidon.kube.api.devices import ClaimMeta, ResourceClaim
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef, PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.binder import BindResult
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.kube.write.suspension_writer import SuspensionWrite
from poseidon.kube.write.volume_claim_writer import SelectNode
from poseidon.lifecycle.actions import (
    AnnounceGroup,
    AnnouncePreempted,
    AnnounceRefused,
    AnnounceScheduled,
    AnnounceUnschedulable,
    Bind,
    DeleteRefused,
    Evict,
    RecreateRefused,
    WithdrawEviction,
)
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node as bridge_node
from tests.poseidon.bridge.objects import pod as bridge_pod
from tests.poseidon.bridge.objects import present
from tests.support.cluster import pod, running_cluster
from tests.support.waiting import stays, until

PODS = "/api/v1/namespaces/default/pods"
GONE = PodRef("u", "default", "gone")
JOB = ObjectRef("batch/v1", "Job", "j", "default", "train")
CREATED = 1_767_225_600.0
"""When pods of these tests were created, in seconds since the epoch."""


def suspension(*, suspended: bool) -> SuspensionWrite:
    return SuspensionWrite(JOB, "/apis/batch/v1/jobs", ("spec", "suspend"), 0, suspended)


CLAIM = DeviceClaimWrite(ResourceClaim(ClaimMeta(name="gpu", namespace="default", uid="g")), {}, (GONE,), ())


class State(BridgeState):
    """Notes which outcomes it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, Any]] = []

    def binding_ended(self, outcome):
        self.told.append(("binding", outcome))
        super().binding_ended(outcome)

    def suspension_written(self, end):
        self.told.append(("suspension", end))

    def get_workload_creation_time(self, uid):
        return CREATED if uid == "j" else 0.0


class Scene:
    """Writers whose parts run against a simulated cluster."""

    def __init__(self, transport: Transport, traces: Any = None, **options: Any) -> None:
        self.transport = transport
        self.registry = CollectorRegistry()
        self.state = State()
        self.state.eviction_ended = lambda outcome: self.state.told.append(("eviction", outcome))
        self.state.claim_refused = lambda write, reason: self.state.told.append(("claim", (write, reason)))
        self.state.device_claim_written = lambda end: self.state.told.append(("device claim", end))
        self.changes = 0
        environment = Environment(transport, random=Random(1), wall=lambda: CREATED + 7.0)
        self.quarantine = environment.quarantine
        self.writers = Writers(
            environment,
            BridgeOptions(("unused:1",), **options),
            self.state,
            lambda path: path,
            self._changed,
            BridgeMetrics(self.registry),
            traces,
        )

    def _changed(self) -> None:
        self.changes += 1

    async def told(self, kind: str) -> Any:
        """Wait until the state has been told of an outcome; return it."""
        await until(lambda: any(each == kind for each, _ in self.state.told), what=f"outcome of a {kind}")
        [found] = [outcome for each, outcome in self.state.told if each == kind]
        return found

    def count(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@asynccontextmanager
async def scene(**options: Any):
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        made = Scene(transport, **options)
        parts = [asyncio.create_task(part, name=name) for name, part in made.writers.parts()]
        try:
            yield made
        finally:
            for each in parts:
                each.cancel()
            await asyncio.gather(*parts, return_exceptions=True)


async def test_a_binding_is_made_told_and_counted_once():
    async with scene() as s:
        await s.transport.post("/api/v1/nodes", b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}')
        made = msgspec.json.decode(await s.transport.post(PODS, msgspec.json.encode(pod("a"))))
        uid = made["metadata"]["uid"]
        s.state.nodes_changed([present(bridge_node("n1"))])
        s.state.pods_changed([present(bridge_pod("a", uid=uid))])
        list(s.state.take_events())
        result = pb.RoundResult(round=1)
        result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine="n1")
        s.state.on_round(result)
        s.writers.dispatch(s.state.take_actions())
        assert s.writers.binder.unfinished == 1
        assert s.count("poseidon_bind_queue_length") == 1.0
        await s.told("binding")
        await until(lambda: s.count("poseidon_pods_bound_total") == 1.0)
        assert s.count("poseidon_pod_scheduling_sli_duration_seconds_sum") == 7.0
        assert s.changes == 1
        s.writers.dispatch([Bind(PodRef("x", "default", "nobody"), "n1")])
        await until(lambda: len(s.state.told) == 2)
        await until(lambda: s.changes == 2)
        assert s.count("poseidon_pods_bound_total") == 1.0
        found = msgspec.json.decode(await s.transport.get(f"{PODS}/a"))
        assert found["spec"]["nodeName"] == "n1"


async def test_what_cannot_be_written_is_told_to_the_state():
    async with scene() as s:
        s.writers.dispatch([Evict(GONE, "n1", False, "make way")])
        assert (await s.told("eviction")).gone
        s.writers.dispatch([CLAIM])
        assert (await s.told("device claim")).reason
        s.writers.dispatch([suspension(suspended=True)])
        assert (await s.told("suspension")).refusal
        await until(lambda: s.changes == 3)
        assert s.count("poseidon_queue_admission_wait_seconds_count") == 0.0


@pytest.mark.parametrize("suspended", [False, True])
async def test_a_job_that_is_resumed_has_waited_since_it_was_created(suspended, caplog):
    async with scene() as s:
        template = {
            "metadata": {},
            "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"},
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {"suspend": not suspended, "template": template},
        }
        path = "/apis/batch/v1/namespaces/default/jobs"
        made = msgspec.json.decode(await s.transport.post(path, msgspec.json.encode(job)))
        about = JOB._replace(uid=made["metadata"]["uid"])
        s.state.get_workload_creation_time = lambda _: CREATED
        s.writers.dispatch([suspension(suspended=suspended)._replace(about=about)])
        assert not (await s.told("suspension")).refusal
        found = msgspec.json.decode(await s.transport.get(f"{path}/train"))
        assert found["spec"]["suspend"] is suspended
        assert s.count("poseidon_queue_admission_wait_seconds_sum") == (0.0 if suspended else 7.0)
        assert not [each for each in caplog.records if "not resumed" in each.message]


async def test_pods_that_kubelets_refuse_are_counted_by_reason():
    async with scene() as s:
        s.writers.dispatch([AnnounceRefused(GONE, "OutOfcpu", "no room")])
        assert s.count("poseidon_pods_refused_total", reason="OutOfcpu") == 1.0
        await asyncio.wait_for(s.writers.wait_drained(), 30)
        events = msgspec.json.decode(await s.transport.get("/api/v1/namespaces/default/events"))["items"]
        assert [each["note"] if "note" in each else each["message"] for each in events] == ["no room"]


async def test_an_action_that_nobody_carries_out_holds_up_no_other(may_set_aside):
    async with scene() as s:
        s.writers.dispatch(["x" * 300, AnnounceRefused(GONE, "OutOfcpu", "no room")])
        assert s.quarantine.reason("actions", "str")
        [(_, name, _)] = list(s.quarantine)
        assert name in ("str", "x" * 200)
        assert s.count("poseidon_pods_refused_total", reason="OutOfcpu") == 1.0


async def test_a_dry_run_says_what_it_would_do_and_does_nothing(caplog):
    actions = [
        (Bind(GONE, "n1"), "would bind pod=default/gone node=n1"),
        (CLAIM, "would write the status of a ResourceClaim claim=default/gpu"),
        (suspension(suspended=True), "would suspend Job="),
        (suspension(suspended=False), "would resume Job="),
        (AnnounceUnschedulable(GONE, "no room", False), 'would report pod=default/gone reason="no room"'),
        (Evict(GONE, "n1", False, "why"), 'would evict pod=default/gone node=n1 message="why"'),
        (AnnounceGroup(JOB, EventReason.INVALID_GROUP, "bad"), "would report group="),
        (RecreateRefused(GONE, 1, 2.6), "would create a refused pod again pod=default/gone in=3s"),
        (DeleteRefused(GONE), "would delete a refused pod pod=default/gone"),
        (AnnounceScheduled(GONE, "n1"), ""),
    ]
    async with scene(dry_run=True) as s:
        for action, line in actions:
            caplog.clear()
            with caplog.at_level(logging.INFO, logger="poseidon.bridge.writers"):
                s.writers.dispatch([action])
            said = [each.getMessage() for each in caplog.records if each.name == "poseidon.bridge.writers"]
            assert len(said) == bool(line), action
            assert all(each.startswith(line) for each in said)
        assert s.writers.binder.unfinished == 0
        assert msgspec.json.decode(await s.transport.get("/api/v1/namespaces/default/events"))["items"] == []


async def node_and_pod(s: Scene) -> PodRef:
    await s.transport.post("/api/v1/nodes", b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}')
    made = msgspec.json.decode(await s.transport.post(PODS, msgspec.json.encode(pod("a"))))
    return PodRef(made["metadata"]["uid"], "default", "a")


@pytest.mark.parametrize("complained", [False, True])
async def test_an_unwritten_complaint_about_a_pod_that_is_being_bound_is_dropped(complained):
    async with scene() as s:
        ref = await node_and_pod(s)
        s.writers.dispatch([AnnounceUnschedulable(ref, "no room", False), Bind(ref, "n1", complained)])
        assert (await s.told("binding")).result is BindResult.BOUND
        await asyncio.wait_for(s.writers.wait_drained(), 30)
        found = msgspec.json.decode(await s.transport.get(f"{PODS}/a"))
        events = msgspec.json.decode(await s.transport.get("/api/v1/namespaces/default/events"))["items"]
        assert [each["reason"] for each in events] == ([] if complained else ["FailedScheduling"])
        said = [
            each.get("message") for each in found["status"].get("conditions", ()) if each["status"] == "False"
        ]
        assert said == [] if complained else said in ([], ["no room"])


async def test_the_end_of_a_binding_is_traced():
    ended: list[Any] = []

    class Traces:
        def binding_ended(self, outcome: Any) -> None:
            ended.append(outcome.request.name)

    traces: Any = Traces()
    async with scene(traces=traces) as s:
        ref = await node_and_pod(s)
        s.writers.dispatch([Bind(ref, "n1")])
        await until(lambda: ended == ["a"])


async def test_a_claim_that_cannot_be_written_is_told_to_the_state():
    async with scene() as s:
        s.writers.dispatch([SelectNode("u", "default", "data", "c", "n1")])
        write, reason = await s.told("claim")
        assert (write.claim, reason) == ("data", 'persistentvolumeclaim "data" not found')
        assert s.changes == 1


async def test_a_withdrawn_eviction_is_not_made_and_a_scheduled_pod_is_announced():
    async with scene() as s:
        ref = await node_and_pod(s)
        s.writers.dispatch([Evict(ref, "n1", False, "make way"), WithdrawEviction(ref.uid)])
        s.writers.dispatch([AnnounceScheduled(ref, "n1"), AnnouncePreempted(ref, "gone for a")])
        await asyncio.wait_for(s.writers.wait_drained(), 30)
        events = msgspec.json.decode(await s.transport.get("/api/v1/namespaces/default/events"))["items"]
        assert {each["reason"] for each in events} == {"Scheduled", "Preempted"}
        assert (await s.told("eviction")).refusal
        assert "deletionTimestamp" not in msgspec.json.decode(await s.transport.get(f"{PODS}/a"))["metadata"]


@pytest.mark.parametrize("created", [0.0, CREATED, CREATED + 100.0])
async def test_how_long_a_pod_waited_counts_from_its_creation_if_that_is_known(created):
    async with scene() as s:
        ref = await node_and_pod(s)
        s.state.get_creation_time = lambda _: created
        s.writers.dispatch([Bind(ref, "n1")])
        await s.told("binding")
        assert s.count("poseidon_pod_scheduling_sli_duration_seconds_count") == float(created > 0)
        assert s.count("poseidon_pod_scheduling_sli_duration_seconds_sum") == (
            7.0 if created == CREATED else 0.0
        )


async def test_a_pod_that_has_its_node_is_not_nominated_to_it_any_more():
    async with scene() as s:
        ref = await node_and_pod(s)
        s.writers.dispatch([NominatedNodeWrite(ref, "n1"), AnnounceScheduled(ref, "n1")])
        await asyncio.wait_for(s.writers.wait_drained(), 30)
        await stays(lambda: True, 0.02)
        found = msgspec.json.decode(await s.transport.get(f"{PODS}/a"))
        assert not found.get("status", {}).get("nominatedNodeName")
        s.writers.dispatch([NominatedNodeWrite(ref, "n1")])

        async def is_nominated() -> bool:
            found = msgspec.json.decode(await s.transport.get(f"{PODS}/a"))
            return found["status"].get("nominatedNodeName") == "n1"

        await until(is_nominated)
