"""Nothing is written without the Lease, by any kind of writer: also what was queued while it was held."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import get_args

import pytest
from prometheus_client import CollectorRegistry

from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.state import BridgeState
from poseidon.bridge.writers import Writers
from poseidon.kube.api.collections import CLUSTER_QUEUES, QUEUED_JOBS
from poseidon.kube.api.devices import ClaimMeta, ResourceClaim
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import Condition, ObjectRef, PodRef
from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.event_writer import EventWriter
from poseidon.kube.write.patch_writer import (
    ConfigMapWrite,
    GroupConditionWrite,
    GroupStatusWrite,
    LabelWrite,
    NominatedNodeWrite,
    QueueStatusWrite,
)
from poseidon.kube.write.suspension_writer import SuspensionWrite
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.lifecycle.actions import (
    Action,
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
from tests.poseidon.kube.scripted_api import json, scripted
from tests.support.waiting import until

POD = PodRef("uid-1", "default", "web-1")
GROUP = ObjectRef("scheduling.x-k8s.io/v1alpha1", "PodGroup", "uid-g", "default", "train")
JOB = ObjectRef("batch/v1", "Job", "uid-j", "default", "train")
CLAIM = ResourceClaim(ClaimMeta(name="gpu", namespace="default", uid="uid-c", resource_version="7"))
ACTIONS: list[Action] = [
    Bind(POD, "n1"),
    AnnounceScheduled(POD, "n1"),
    AnnounceUnschedulable(POD, "0/1 nodes are available.", was_unschedulable=False),
    Evict(POD, "n1", beyond_budget=False, message="Preempted"),
    Evict(POD._replace(uid="uid-2"), "n1", beyond_budget=True, message="Preempted"),
    AnnouncePreempted(POD, "Preempted"),
    NominatedNodeWrite(POD, "n1"),
    AnnounceGroup(GROUP, EventReason.GANG_FAILED, "not whole in time"),
    AnnounceRefused(POD, "OutOfcpu", "no room"),
    RecreateRefused(POD, 1, 0.0),
    DeleteRefused(POD),
    SelectNode("pod-1", "shop", "data", "uid-1", "n1"),
    GiveVolume("pod-1", "shop", "other", "uid-3", "disk", "uid-2", "77"),
    GroupStatusWrite("uid-g", "default", "train", PodGroupStatus(phase="Running")),
    GroupConditionWrite("uid-n", "default", "native", Condition("Scheduled", "True")),
    ConfigMapWrite("uid-m", "default", "map", {"status": "bound"}, {"rank": "1"}),
    LabelWrite(POD, {"rank": "1"}),
    DeviceClaimWrite(CLAIM, {"devices": {"results": []}}, (POD,), ()),
    QueueStatusWrite("uid-q", CLUSTER_QUEUES.path, "", "team", {"pendingWorkloads": 1}),
    SuspensionWrite(JOB, QUEUED_JOBS.path, ("spec", "suspend"), 1, suspended=False),
]
NOTHING_SENT = {WithdrawEviction}
"""Kinds that ask for no request."""


class Leader:
    """Writers of a process that leads until it does so no longer."""

    def __init__(self, api, transport):
        self.api, self.leads = api, True
        self.environment = Environment(transport, random=Random(1), sleep=lambda _: asyncio.sleep(0))
        state = BridgeState()
        self.writers = Writers(
            self.environment,
            BridgeOptions(("127.0.0.1:1",)),
            state,
            lambda path: path,
            lambda: None,
            BridgeMetrics(CollectorRegistry()),
        )

    @property
    def changes(self):
        """Requests that change something."""
        return [each for each in self.api.requests if each[0] != "GET"]


@asynccontextmanager
async def leading(*, leads):
    async def accept(request):
        metadata = {"name": "web-1", "namespace": "default", "uid": "uid-1", "resourceVersion": "7"}
        return json({"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Failed"}})

    async with scripted(accept) as (api, url):
        holder: list[Leader] = []
        async with Transport(
            ConnectionSettings(url), clock=time.monotonic, may_write=lambda: holder[0].leads
        ) as transport:
            leader = Leader(api, transport)
            holder.append(leader)
            leader.leads = leads
            parts = [asyncio.create_task(run) for _, run in leader.writers.parts()]
            try:
                yield leader
            finally:
                for each in parts:
                    each.cancel()
                await asyncio.gather(*parts, return_exceptions=True)


def test_every_kind_of_action_is_tried():
    assert {type(each) for each in ACTIONS} | NOTHING_SENT == set(get_args(Action))


@pytest.mark.parametrize("action", ACTIONS, ids=lambda each: type(each).__name__)
async def test_a_leader_writes_and_who_has_lost_the_lease_does_not(action):
    async with leading(leads=True) as leader:
        leader.writers.dispatch([action])
        await until(lambda: leader.changes)
    async with leading(leads=True) as leader:
        leader.writers.dispatch([action])
        leader.leads = False  # it was stopped with this in its queues, and wakes after the takeover
        await leader.writers.binder.wait_idle()
        await leader.writers.wait_drained()
        for _ in range(200):
            await asyncio.sleep(0)
        assert not leader.changes


async def test_warnings_about_objects_are_not_written_either():
    async with leading(leads=False) as leader:
        events = EventWriter(
            leader.environment, leader.writers.binder.wait_quiet, component="poseidon", instance="test"
        )
        writing = asyncio.create_task(events.run())
        events.warn(GROUP, EventReason.INVALID_SPEC, "makes no sense")
        await events.wait_drained()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        assert not leader.changes
