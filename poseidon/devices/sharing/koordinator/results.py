"""Reads and writes the annotation that tells koordlet, Koordinator's agent on nodes, which devices a pod has."""

from __future__ import annotations

from typing import Any

import msgspec

from poseidon.devices.sharing.koordinator.inventory import (
    CAPACITIES,
    GPU,
    MEMORY,
    TYPES,
    name_device,
    name_driver,
)
from poseidon.devices.sharing.node_devices import build_allocation
from poseidon.kube.api.devices import Json
from poseidon.kube.api.pods import Pod
from poseidon.kube.parsing import strict_json
from poseidon.kube.parsing.quantities import amount

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
_UNITS = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def read_allocation(pod: Pod, uid: str, node: str) -> Json:
    """Return the allocation of a pod's claim by the pod's annotation; raises ``ValueError`` or others if malformed."""
    stated = strict_json.loads(pod.metadata.annotations[ALLOCATED])
    results = []
    for kind in TYPES:
        for place, each in enumerate(stated.get(kind) or ()):
            has = each.get("resources") or {}
            results.append(
                {
                    "request": kind,
                    "driver": name_driver(kind),
                    "pool": node,
                    "device": name_device(kind, int(each.get("minor") or 0), str(each.get("id") or "")),
                    "shareID": f"{uid}/{kind}/{place}",
                    "consumedCapacity": {
                        own: str(amount("memory", has.get(resource, "0")))
                        for own, resource in CAPACITIES[kind].items()
                    },
                }
            )
    return build_allocation(node, results)


def annotate(allocation: Json, _containers: int, _now: float) -> dict[str, str]:
    """Return the annotation that tells koordlet which devices a pod has."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in allocation["devices"]["results"]:
        kind = each["driver"].partition(".")[0]
        minor, _, name = each["device"].partition("/")
        consumed = each.get("consumedCapacity") or {}
        resources = {
            resource: _write_amount(resource, amount("memory", consumed[own]))
            for own, resource in CAPACITIES[kind].items()
            if kind != GPU or amount("memory", consumed[own])
        }
        entry = {"minor": int(minor), "resources": resources, **({"id": name} if name else {})}
        found.setdefault(kind, []).append(entry)
    for entries in found.values():
        entries.sort(key=lambda each: each["minor"])
    return {ALLOCATED: msgspec.json.encode(found, order="sorted").decode()}


def _write_amount(resource: str, value: int) -> str:
    """Return an amount as a quantity; memory in the largest unit that gives a whole number."""
    if resource == MEMORY and value:
        for unit, size in _UNITS:
            if not value % size:
                return f"{value // size}{unit}"
    return str(value)
