"""The condition of pods that stay pending: what it says, and since when."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.patch_writer import ConditionWriter
from tests.poseidon.kube.scripted_api import json, scripted

POD = PodRef("uid-1", "default", "web-1")
MESSAGE = "0/1 nodes are available: 1 Insufficient cpu."
NOW, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z"


class Writing:
    """A writer whose writes wait until ``written`` is asked for."""

    def __init__(self, api, transport):
        self.wall = 1_767_268_800.0
        self._api = api
        self._let = asyncio.Event()
        self.writer = ConditionWriter(
            Environment(transport, random=Random(1), wall=lambda: self.wall), self._quiet
        )

    async def _quiet(self):
        await self._let.wait()

    def pending(self, message=MESSAGE, **more):
        more.setdefault("was_unschedulable", False)
        self.writer.unschedulable(POD, message, **more)

    async def written(self):
        """The condition of each patch that has been sent."""
        self._let.set()
        await self.writer.wait_drained()
        patches = [msgspec.json.decode(body) for _, _, _, body in self._api.requests]
        assert all(each["metadata"]["uid"] == "uid-1" for each in patches)
        return [condition for each in patches for condition in each["status"]["conditions"]]


@asynccontextmanager
async def writing():
    async def accept(_):
        return json({})

    async with (
        scripted(accept) as (api, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        found = Writing(api, transport)
        running = asyncio.create_task(found.writer.run())
        try:
            yield found
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_condition_that_becomes_false_says_since_when():
    async with writing() as each:
        each.pending()
        [condition] = await each.written()
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": MESSAGE,
        "lastTransitionTime": NOW,
    }


async def test_one_that_was_false_already_keeps_its_time():
    async with writing() as each:
        each.pending(was_unschedulable=True)
        [condition] = await each.written()
    assert "lastTransitionTime" not in condition
    assert condition["message"] == MESSAGE


@pytest.mark.parametrize("before", [True, False])
async def test_a_message_that_overtakes_one_has_the_time_that_that_would_have_written(before):
    """The state has counted the first as said; nothing has been written of it yet."""
    async with writing() as each:
        each.pending(was_unschedulable=before)
        each.wall += 60
        each.pending("other", was_unschedulable=True)
        [condition] = await each.written()
    assert condition["message"] == "other"
    assert condition.get("lastTransitionTime") == (None if before else LATER)


async def test_what_nobody_has_decided_is_no_reason_for_more_nodes():
    async with writing() as each:
        each.pending(undecided=True)
        [condition] = await each.written()
    assert (condition["reason"], condition["status"]) == ("SchedulerError", "False")
