"""Events about pods, over HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef, PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.write.event_writer import EventWriter
from poseidon.kube.write.write_retries import WriteBehindOptions
from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.objects.resources import EVENTS
from poseidon.testbed.objects.store import decode
from tests.support.cluster import running_cluster

PATH = "/api/v1/namespaces/default/events"
POD = PodRef("uid-1", "default", "web-1")
OTHER = PodRef("uid-2", "default", "web-2")
QUICK = WriteBehindOptions(backoff_initial=0.001, backoff_cap=0.002)


@asynccontextmanager
async def writing(quiet=None):
    registry = CollectorRegistry()

    async def wait_quiet():
        if quiet is not None:
            await quiet.wait()

    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        writer = EventWriter(
            Environment(transport, KubeMetrics(registry), Random(1), wall=lambda: 1_767_268_800.0),
            wait_quiet,
            component="poseidon",
            instance="test",
            options=QUICK,
        )
        running = asyncio.create_task(writer.run())
        try:
            yield cluster, writer, registry
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def events(cluster):
    store = cluster.operations.store
    view = store.collection(EVENTS.collection).view(store.revision)
    return [decode(view.get(key)) for key in view.keys]


@pytest.mark.parametrize("fault", [{"cut": True, "after": True}, {"code": 500, "after": True}, {"code": 429}])
async def test_a_lost_answer_does_not_double_an_event(fault):
    async with writing() as (cluster, writer, registry):
        cluster.faults.add(Fault(PATH, method="POST", times=1, **fault))
        writer.write_scheduled(POD, "n1")
        await writer.wait_drained()
        [event] = events(cluster)
        assert event["message"] == "Successfully assigned default/web-1 to n1"
        labels = {"kind": "event", "result": "written"}
        assert registry.get_sample_value("poseidon_status_writes_total", labels) == 1


@pytest.mark.parametrize("bound", ["scheduled", "withdraw_failure"])
async def test_a_failure_that_has_not_been_told_is_not_told_of_a_pod_that_is_bound(bound):
    quiet = asyncio.Event()
    async with writing(quiet) as (cluster, writer, _):
        writer.say(POD, EventReason.FAILED_SCHEDULING, "0/1 nodes are available: 1 Insufficient cpu.")
        writer.say(OTHER, EventReason.FAILED_SCHEDULING, "0/1 nodes are available: 1 Insufficient cpu.")
        if bound == "scheduled":
            writer.write_scheduled(POD, "n1")
        else:
            writer.withdraw_failure(POD.uid)
        quiet.set()
        await writer.wait_drained()
        told = sorted((each["reason"], each["involvedObject"]["name"]) for each in events(cluster))
        assert told == [("FailedScheduling", "web-2"), *[("Scheduled", "web-1")][: bound == "scheduled"]]


async def test_refusals_are_warnings_of_their_own():
    async with writing() as (cluster, writer, _):
        writer.say(POD, EventReason.FAILED_SCHEDULING, "0/1 nodes are available: 1 Insufficient cpu.")
        writer.say(
            POD,
            EventReason.REFUSED,
            "Node n1 refused the pod: OutOfcpu: no room; its ReplicaSet web takes care of it",
        )
        await writer.wait_drained()
        assert sorted((e["type"], e["reason"], e["count"]) for e in events(cluster)) == [
            ("Warning", "FailedScheduling", 1),
            ("Warning", "Refused", 1),
        ]


async def test_a_namespace_that_is_going_away_is_no_fault(caplog):
    async with writing() as (cluster, writer, registry):
        message = "unable to create new content in namespace default because it is being terminated"
        cluster.faults.add(Fault(PATH, code=403, reason="Forbidden", message=message))
        writer.write_scheduled(POD, "n1")
        await writer.wait_drained()
        labels = {"kind": "event", "result": "obsolete"}
        assert registry.get_sample_value("poseidon_status_writes_total", labels) == 1
    assert not caplog.records


async def test_a_failure_that_lasts_is_one_event_until_the_pod_is_bound_or_the_event_expires():
    async with writing() as (cluster, writer, _):
        for message in ("0/1 nodes are available.", "0/2 nodes are available.", "0/3 nodes are available."):
            writer.say(POD, EventReason.FAILED_SCHEDULING, message)
            await writer.wait_drained()
        [event] = events(cluster)
        assert (event["count"], event["message"]) == (3, "0/3 nodes are available.")
        cluster.faults.add(Fault(f"{PATH}/.*", method="PATCH", times=1, code=404, reason="NotFound"))
        writer.say(POD, EventReason.FAILED_SCHEDULING, "expired")
        await writer.wait_drained()
        assert sorted((each["message"], each["count"]) for each in events(cluster)) == [
            ("0/3 nodes are available.", 3),
            ("expired", 1),
        ]
        writer.write_scheduled(POD, "n1")
        await writer.wait_drained()
        writer.say(POD, EventReason.FAILED_SCHEDULING, "pending again")
        await writer.wait_drained()
        assert sorted((each["reason"], each["count"]) for each in events(cluster)) == [
            ("FailedScheduling", 1),
            ("FailedScheduling", 1),
            ("FailedScheduling", 3),
            ("Scheduled", 1),
        ]


async def test_a_warning_about_an_object_is_renewed_and_another_one_is_an_event_of_its_own():
    about = ObjectRef("example.com/v1", "Thing", "uid-9", "default", "t" * 300)
    async with writing() as (cluster, writer, _):
        for message in ("odd", "odd", "worse"):
            writer.warn(about, EventReason.INVALID_SPEC, message)
            await writer.wait_drained()
        found = sorted(events(cluster), key=lambda each: each["message"])
        assert [(each["message"], each["count"], each["type"]) for each in found] == [
            ("odd", 1, "Warning"),
            ("worse", 1, "Warning"),
        ]
        first = found[0]
        assert first["involvedObject"] == {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "name": "t" * 300,
            "namespace": "default",
            "uid": "uid-9",
        }
        assert first["lastTimestamp"] == "2026-01-01T12:00:00Z"
        assert len(first["metadata"]["name"]) <= 253
