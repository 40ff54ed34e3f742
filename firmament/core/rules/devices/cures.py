"""Proposes cures for tasks that lack devices: claims for fewer devices, and machines with more devices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import TaskClaim

_MOST_ASKED = 32
"""The most devices that the API allows a claim; a request for more devices is not tried with fewer."""


_LIKE = 2
"""How many different devices of a machine are tried as models for additional ones; they differ in attributes or
capacity."""
_OF_DEVICE = ("attributes", "capacity", "allowMultipleAllocations")


def propose_for_devices(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield cures for a task with claims: fewer devices, or more devices on the machine."""
    if standing.content.claims:
        yield from _propose_fewer(standing)
        yield from _propose_more(standing)


def read_local_slices(payloads: Iterable[bytes]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Return the specs of those ResourceSlices that belong to one machine, by machine."""
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for payload in payloads:
        try:
            spec = json.loads(payload)
            machine = spec.get("nodeName")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(machine, str) and machine:
            found[machine] = (*found.get(machine, ()), spec)
    return found


def _propose_more(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield cures that add devices like one that the machine has, the smallest number first."""
    counts = [count for claim in standing.content.claims for _, _, count in _list_counts(claim, least=1)]
    for driver, pool, device in _list_unlike(standing.list_slices()):
        alike = {key: device[key] for key in _OF_DEVICE if key in device}
        subject = f"{driver}/{pool}/{device['name']}"
        for more in sorted({1, 2, *counts, max(1, min(sum(counts), _MOST_ASKED))}):
            name = f"{pool}-more"
            spec = {
                "driver": driver,
                "nodeName": standing.machine.name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{**alike, "name": f"more-{number}"} for number in range(more)],
            }
            step = CureChange(CureKind.ADD_DEVICES, subject, standing.machine.name, after=more)
            yield CureProposal((step,), TrialChange(standing.content, slices=((name, spec),)))


def _list_unlike(slices: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return driver, pool and device of the first devices of different kinds, without devices that use counters."""
    found: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for spec in slices:
        try:
            driver, pool = str(spec["driver"]), str(spec["pool"]["name"])
            for device in spec.get("devices") or ():
                if device["name"] and not device.get("consumesCounters"):
                    alike = json.dumps([driver, *map(device.get, _OF_DEVICE)], sort_keys=True)
                    found.setdefault(alike, (driver, pool, device))
        except (TypeError, KeyError, AttributeError):
            continue
    return list(found.values())[:_LIKE]


def _propose_fewer(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield cures that request fewer devices in one of the task's own claims, the largest number first."""
    for place, claim in enumerate(standing.content.claims):
        for number, name, count in _list_counts(claim):
            for fewer in _list_fewer(count):
                claims = list(standing.content.claims)
                claims[place] = _with_count(claim, number, fewer)
                subject = f"request {name} of claim {claim.name}"
                step = CureChange(CureKind.FEWER_DEVICES, subject, before=count, after=fewer)
                content = replace(standing.content, claims=tuple(claims))
                yield CureProposal((step,), TrialChange(content))


def _list_counts(claim: TaskClaim, least: int = 2) -> Iterator[tuple[int, str, int]]:
    """Yield (index, name, count) of each request of a task's own claim for at least ``least`` devices."""
    for place, request in enumerate(_list_requests(claim)):
        exactly = request.get("exactly") if isinstance(request, dict) else None
        if not isinstance(exactly, dict) or exactly.get("allocationMode") == "All":
            continue
        count = exactly.get("count", 1)
        if isinstance(count, int) and least <= count <= _MOST_ASKED:
            yield place, str(request.get("name")), count


def _list_requests(claim: TaskClaim) -> list[Any]:
    try:
        found = json.loads(claim.spec)["devices"]["requests"] if claim.spec else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _list_fewer(count: int) -> list[int]:
    """Return smaller numbers of devices to try, descending: all of them if ``count`` is at most 8, otherwise seven."""
    if count <= 8:
        return list(range(count - 1, 0, -1))
    return [count - 1, count * 3 // 4, count // 2, count // 4, 4, 2, 1]


def _with_count(claim: TaskClaim, place: int, count: int) -> TaskClaim:
    content = json.loads(claim.spec)
    content["devices"]["requests"][place]["exactly"]["count"] = count
    return replace(claim, spec=json.dumps(content, sort_keys=True, separators=(",", ":")))
