"""Records of the NUMA zones of machines.

A record of kind ``NodeResourceTopology`` bears the machine's name; its payload is JSON:

    {"policy": "single-numa-node", "scope": "container", "maxNUMANodes": 8, "updated": 1750000000.0,
     "zones": [{"id": 0, "costs": {"0": 10, "1": 21},
                "resources": {"cpu": {"capacity": 32000, "allocatable": 31000, "available": 12000}}}]}

``policy`` and ``scope`` are the kubelet's words. ``maxNUMANodes`` (default 8), ``updated`` (seconds since the epoch),
``costs`` (a missing distance is 255), ``capacity`` and ``allocatable`` (default: the available amount) may be left
out. Amounts are integers in the unit of their resource: cpu in milli-cores, memory in bytes, all others in counts.
``missing``, if present, lists the ids of all tasks that were on the machine but that the figures do not count yet.
The driver finds the missing tasks by the fingerprint of the counted tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from cost_models.api.parsed_records import BadRecordError, check_number, check_whole, parse_object
from cost_models.interface import Bool, Int64

RECORD_KIND = "NodeResourceTopology"

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")

DEFAULT_MAX_ZONES = 8
MOST_MAX_ZONES = 1024
MOST_ZONES = 64
UNKNOWN_DISTANCE = 255
LARGEST = 2**53

_AMOUNTS = ("available", "allocatable", "capacity")


@dataclass(frozen=True, slots=True)
class ZoneTopology:
    """The Z zones of one machine, in order of their ids; arrays are read-only."""

    policy: int
    """Row of ``POLICIES``."""
    pod_scope: bool
    """Whether the pod is aligned as a whole."""
    max_zones: int
    """Most zones that the kubelet accepts."""
    updated: float
    """When the record was written, in seconds since the epoch; NaN if unknown."""
    ids: Int64
    """int64[Z]."""
    resources: tuple[str, ...]
    """Names of the R resources."""
    amounts: Int64
    """int64[3, R, Z]: available, allocatable and total amounts; 0 if a zone does not list the resource."""
    listed: Bool
    """bool[R, Z], whether a zone lists the resource."""
    distance: Int64
    """int64[Z, Z], from zone to zone."""
    missing: frozenset[str] | None
    """Ids of tasks that the figures do not count, None if the driver does not know them."""


def parse_topology(payload: bytes) -> ZoneTopology:
    """Read one payload; raises ``BadRecordError``."""
    entry = parse_object(payload)
    zones, updated = _zones(entry), entry.get("updated")
    resources = tuple(sorted({name for zone in zones for name in zone["resources"]}))
    amounts = np.zeros((3, len(resources), len(zones)), dtype=np.int64)
    listed = np.zeros((len(resources), len(zones)), dtype=np.bool_)
    for index, zone in enumerate(zones):
        for row, name in enumerate(resources):
            if name in zone["resources"]:
                listed[row, index] = True
                amounts[:, row, index] = _amounts(zone, name)
    ids = np.array([zone["id"] for zone in zones], dtype=np.int64)
    return ZoneTopology(
        policy=POLICIES.index(_word(entry, "policy", POLICIES)),
        pod_scope=_word(entry, "scope", SCOPES) == "pod",
        max_zones=check_whole(
            "maxNUMANodes", entry.get("maxNUMANodes", DEFAULT_MAX_ZONES), 1, MOST_MAX_ZONES
        ),
        updated=math.nan if updated is None else check_number("updated, in seconds,", updated, 0, LARGEST),
        ids=ids,
        resources=resources,
        amounts=amounts,
        listed=listed,
        distance=_distances(zones),
        missing=_missing(entry.get("missing")),
    )


def _zones(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the zones by ascending id.

    Raises ``BadRecordError`` if two zones have one id, or if a zone has no map of resources.
    """
    zones = entry.get("zones")
    if not isinstance(zones, list) or not all(isinstance(zone, dict) for zone in zones):
        raise BadRecordError("zones is not a list of objects")
    for zone in zones:
        check_whole("zones.id", zone.get("id"), 0, MOST_ZONES - 1)
        if not isinstance(zone.setdefault("resources", {}), dict):
            raise BadRecordError(f"resources of zone {zone['id']} is not an object")
        if not isinstance(zone.setdefault("costs", {}), dict):
            raise BadRecordError(f"costs of zone {zone['id']} is not an object")
    ordered = sorted(zones, key=lambda zone: int(zone["id"]))
    for one, other in pairwise(ordered):
        if one["id"] == other["id"]:
            raise BadRecordError(f"zone {one['id']} is given twice")
    return ordered


def _amounts(zone: Mapping[str, Any], name: str) -> tuple[int, int, int]:
    """Return the available, allocatable and total amount; the latter two are at least the first."""
    given = zone["resources"][name]
    where = f"{name[:80]!r} of zone {zone['id']}"
    if not isinstance(given, dict) or "available" not in given:
        raise BadRecordError(f"{where} is not an object with an amount that is available")
    found = [
        check_whole(f"{key} of {where}", given.get(key, given["available"]), 0, LARGEST) for key in _AMOUNTS
    ]
    allocatable = max(found[0], found[1])
    return found[0], allocatable, max(allocatable, found[2])


def _distances(zones: list[dict[str, Any]]) -> Int64:
    """Return the distances between zones: int64[Z, Z], 255 where unknown."""
    index = {str(zone["id"]): position for position, zone in enumerate(zones)}
    distance = np.full((len(zones), len(zones)), UNKNOWN_DISTANCE, dtype=np.int64)
    for position, zone in enumerate(zones):
        for other, cost in zone["costs"].items():
            if other in index:
                distance[position, index[other]] = check_whole(
                    f"costs of zone {zone['id']}", cost, 0, LARGEST
                )
    return distance


def _word(entry: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    value = entry.get(key, allowed[0])
    if value not in allowed:
        raise BadRecordError(f"{key} is not one of {', '.join(allowed)}")
    return str(value)


def _missing(value: Any) -> frozenset[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(uid, str) for uid in value):
        raise BadRecordError("missing is not a list of ids")
    return frozenset(value)
