"""Objects of devices for tests: slices, classes and claims, as records and as specs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from firmament.core.events import RecordUpserted
from firmament.core.model import TaskClaim
from firmament.core.record_kinds import (
    DEVICE_CLAIM_RECORD,
    DEVICE_CLASS_RECORD,
    DEVICE_SLICE_RECORD,
)

DRIVER = "gpu.example.com"


def device(name: str, **fields: Any) -> dict[str, Any]:
    """A device; attributes as plain values."""
    plain = fields.pop("attributes", {})
    kinds: Mapping[type, str] = {bool: "bool", int: "int", str: "string"}
    attributes = {key: {kinds[type(value)]: value} for key, value in plain.items()}
    return {"name": name, "attributes": attributes, **fields}


def slice_spec(
    pool: str, devices: Sequence[Mapping[str, Any]], slices: int = 1, **fields: Any
) -> dict[str, Any]:
    """The spec of a slice of a pool, of the machine of its name, unless ``fields`` say otherwise."""
    reach = (
        {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & fields.keys() else {"nodeName": pool}
    )
    return {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": slices},
        "devices": list(devices),
        **reach,
        **fields,
    }


def slice_record(pool: str, devices: Sequence[Mapping[str, Any]], **fields: Any) -> RecordUpserted:
    """The record of such a slice."""
    return RecordUpserted(
        DEVICE_SLICE_RECORD, f"slice-{pool}", json.dumps(slice_spec(pool, devices, **fields)).encode()
    )


def class_record(name: str, *expressions: str, **fields: Any) -> RecordUpserted:
    """The record of a DeviceClass."""
    spec = {"selectors": [{"cel": {"expression": each}} for each in expressions], **fields}
    return RecordUpserted(DEVICE_CLASS_RECORD, name, json.dumps(spec).encode())


def exactly(
    device_class: str, count: int = 1, *expressions: str, name: str = "r", **fields: Any
) -> dict[str, Any]:
    """A request for so many devices; 0: all."""
    mode = {"allocationMode": "ExactCount", "count": count} if count else {"allocationMode": "All"}
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {
        "name": name,
        "exactly": {"deviceClassName": device_class, "selectors": selectors, **mode, **fields},
    }


def claim_spec(*requests: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """The spec of a claim."""
    return {"devices": {"requests": list(requests), **fields}}


def own_claim(*requests: Mapping[str, Any], name: str = "c", **fields: Any) -> TaskClaim:
    """A claim that each task of a class has for itself."""
    return TaskClaim(name, spec=json.dumps(claim_spec(*requests, **fields), sort_keys=True))


def claim_record(name: str, spec: Mapping[str, Any], allocation: Any = None, *uids: str) -> RecordUpserted:
    """The record of a claim, reserved for tasks that use it."""
    content = {"spec": spec, "allocation": allocation, "reserved_for": uids, "in_use_by": uids}
    return RecordUpserted(DEVICE_CLAIM_RECORD, name, json.dumps(content).encode())


def list_devices(allocation: str | Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pool and device of each result of an allocation."""
    content = json.loads(allocation) if isinstance(allocation, str) else allocation
    return [(each["pool"], each["device"]) for each in content["devices"]["results"]]
