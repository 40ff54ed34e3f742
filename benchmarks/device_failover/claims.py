"""Follows all changes of claims independently of the scheduler, checks their devices, and simulates the driver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import msgspec

from benchmarks.device_failover.workload import FAILED, NAMESPACE, PREPARED, SLOW
from benchmarks.processes.parts.raw_watch import follow_objects
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.transport import Transport

Object = dict[str, Any]
Device = tuple[str, str, str]

_PATH = f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims"


def list_results(claim: Object) -> list[Object]:
    """Return the devices that are allocated to a claim."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or ())


class ClaimHistory:
    """The claims, updated in the order in which the API server has stored their changes."""

    def __init__(self) -> None:
        self._owners: dict[Device, str] = {}
        self.claims: dict[str, Object] = {}
        """By name, as they are now."""
        self.given = 0
        """How often a claim without devices has got some."""
        self.faults: list[str] = []
        """A line for each device that was given to a claim while another had it."""

    def note(self, claim: Object, *, gone: bool = False) -> None:
        """Record the state of a claim, or its last state if it is ``gone``."""
        name = claim["metadata"]["name"]
        before = {_name(each) for each in list_results(self.claims.get(name, {}))}
        now = {_name(each) for each in ([] if gone else list_results(claim))}
        for device in before - now:
            if self._owners.get(device) == name:
                del self._owners[device]
        for device in sorted(now - before):
            owner = self._owners.setdefault(device, name)
            if owner != name:
                self.faults.append(f"{'/'.join(device)}: {owner} has it, and {name} gets it")
        self.given += bool(now and not before)
        if gone:
            self.claims.pop(name, None)
        else:
            self.claims[name] = claim


class ClaimWatch(ClaimHistory):
    """Follows the claims of an API server, and simulates the driver of their devices.

    ``fail_share``: probability that the driver reports a device as failed.
    """

    def __init__(self, transport: Transport, random: Random, fail_share: float = 0.1) -> None:
        super().__init__()
        self._transport, self._random, self._fail_share = transport, random, fail_share
        self._preparing: set[asyncio.Task[None]] = set()
        self.failed = 0
        """How often the driver has reported a failure."""

    async def run(self) -> None:
        """Follow changes until cancelled. Raises ``KubeError`` if the API server goes away."""
        async for claim, gone in follow_objects(self._transport, _PATH):
            self.note(claim, gone=gone)
            if not gone:
                self._prepare(claim)

    # --- the driver ------------------------------------------------------------------------------------------

    def _prepare(self, claim: Object) -> None:
        said = {_name(each) for each in (claim.get("status") or {}).get("devices") or ()}
        slow = [each for each in list_results(claim) if each["driver"] == SLOW]
        if slow and not said.issuperset(map(_name, slow)):
            fails = self._random.random() < self._fail_share
            self.failed += fails
            task = asyncio.create_task(self._report(claim, slow, FAILED if fails else PREPARED))
            self._preparing.add(task)
            task.add_done_callback(self._preparing.discard)

    async def _report(self, claim: Object, results: list[Object], condition: str) -> None:
        """Report devices as prepared, or as failed, unless the claim has changed meanwhile."""
        said = {
            "type": condition,
            "status": "True",
            "reason": "Played",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        parts = ("driver", "pool", "device")
        devices = [{**{part: each[part] for part in parts}, "conditions": [said]} for each in results]
        metadata = {"resourceVersion": claim["metadata"]["resourceVersion"]}
        body = msgspec.json.encode({"metadata": metadata, "status": {"devices": devices}})
        with suppress(
            KubeError
        ):  # the API server refuses if the claim has changed; this watch then shows the change
            await self._transport.patch(f"{_PATH}/{claim['metadata']['name']}/status", body, MERGE_PATCH)


def _name(result: Object) -> Device:
    return result["driver"], result["pool"], result["device"]


@asynccontextmanager
async def follow_claims(transport: Transport, random: Random) -> AsyncGenerator[ClaimWatch]:
    """Provide a watch of the claims of an API server, which ends with the context."""
    watch = ClaimWatch(transport, random)
    running = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
