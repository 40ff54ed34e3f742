"""Simulates a device driver on each node with devices: publishes slices, and reports when devices are prepared.

``DriverSimulation`` and ``DeviceOracle`` do no input or output and read no clock.
"""

from __future__ import annotations

from typing import Any

from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.controllers.device_claims import CLAIMS
from poseidon.testbed.controllers.node_rules import annotations_of
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

DRIVER = "devices.simulated.poseidon.io"
SLICES = "resourceslices.resource.k8s.io"
DEVICES = "simulated.poseidon.io/devices"
"""Annotation of a node that states how many devices its driver has."""


def make_slice(node: str, count: int, driver: str = DRIVER) -> Object:
    """Return a ResourceSlice of a node with ``count`` devices of 16Gi each, of two alternating models."""
    devices = [
        {
            "name": f"device-{index}",
            "attributes": {
                "model": {"string": ("small", "large")[index % 2]},
                "index": {"int": index},
            },
            "capacity": {"memory": {"value": "16Gi"}},
        }
        for index in range(count)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


class DriverSimulation:
    """Publishes the devices that annotations of nodes state, and fulfils their binding conditions at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._nodes, self._claims = store.collection("nodes"), store.collection(CLAIMS)
        self._slices = store.collection(SLICES)
        self.follows = self._nodes, self._claims
        self._node_changes, self._claim_changes = Follower(self._nodes), Follower(self._claims)

    def advance(self, now: float) -> float | None:  # noqa: ARG002 - driven as what has to wait is
        """Handle all changes; return None, because no work is due at a later time."""
        for gone, record in self._node_changes.take_changes()[1]:
            self._publish(record, gone=gone)
        for gone, record in self._claim_changes.take_changes()[1]:
            if not gone:
                self._prepare(record)
        return None

    def _publish(self, record: Record, *, gone: bool) -> None:
        text = "0" if gone else annotations_of(decode(record)).get(DEVICES, "0")
        count = int(text) if text.isdecimal() else 0
        known = self._slices.get(f"{record.name}-{DRIVER}")
        if count and known is None:
            self._store.create(self._slices, make_slice(record.name, count))
        elif known is not None and not count:
            self._store.delete(self._slices, known)

    def _prepare(self, record: Record) -> None:
        current = self._claims.get(record.key)
        if current is None or current.uid != record.uid:
            return
        claim = decode(current)
        said = [_say_ready(each, self._store.now()) for each in list_results(claim) if _waits(each)]
        status = claim.get("status") or {}
        if said and not status.get("devices"):
            claim["status"] = {**status, "devices": said}
            self._store.replace(self._claims, current, claim)


def list_results(claim: Object) -> list[Object]:
    """Return the devices that are allocated to a claim, as its status lists them."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or ())


def _waits(result: Object) -> bool:
    return result.get("driver") == DRIVER and bool(result.get("bindingConditions"))


def _say_ready(result: Object, now: str) -> Object:
    conditions = [
        {"type": each, "status": "True", "reason": "Prepared", "message": "", "lastTransitionTime": now}
        for each in result["bindingConditions"]
    ]
    named: Object = {part: result[part] for part in ("driver", "pool", "device", "shareID") if part in result}
    return {**named, "conditions": conditions}


class DeviceOracle:
    """Watches every change of every claim, and records each device that is allocated to two claims at the same time."""

    def __init__(self, store: Store) -> None:
        self._claims = store.collection(CLAIMS)
        self.follows = (self._claims,)
        self._changes = Follower(self._claims)
        self._owner: dict[tuple[str, str, str], str] = {}
        self._devices: dict[str, set[tuple[str, str, str]]] = {}
        self.faults: list[str] = []
        """A line for each device that was allocated to two claims at the same time."""

    def advance(self, now: float) -> float | None:  # noqa: ARG002 - driven as what has to wait is
        """Check all changes of claims since the last call."""
        for gone, record in self._changes.take_changes()[1]:
            self._note(record.key, [] if gone else list_results(decode(record)))
        return None

    def _note(self, key: str, results: list[Object]) -> None:
        now = {
            (each["driver"], each["pool"], each["device"])
            for each in results
            if not each.get("adminAccess") and not each.get("shareID")
        }
        for device in self._devices.pop(key, set()) - now:
            if self._owner.get(device) == key:
                del self._owner[device]
        for device in sorted(now):
            owner = self._owner.setdefault(device, key)
            if owner != key:
                self.faults.append(f"{'/'.join(device)}: {owner} has it, and {key} gets it")
        self._devices[key] = now
