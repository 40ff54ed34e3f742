"""Shows a node in full, with its pods, devices and history."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from poseidon.kube.parsing.quantities import MAX_AMOUNT, QuantityError, amount
from poseidon.ui.cluster.node_entry import HISTORY, Happening
from poseidon.ui.views.amounts import amount_text, in_order, requests_text

if TYPE_CHECKING:
    from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology, ZoneResource
    from poseidon.ui.cluster.node_entry import NodeEntry
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known

MOST_DEVICES, MOST_USERS = 200, 20
"""The most devices of a node that an answer lists, and the most claims of a device or pods of a claim."""


def show_node(known: Known, name: str, offset: int, limit: int) -> dict[str, Any] | None:
    """Return a node as the JSON object that the documents describe, or None if no node has this name."""
    store = known.store
    entry = store.nodes.get(name)
    if entry is None or entry.facts is None:
        return None
    facts = entry.facts
    # The requests of all pods together may be larger than JSON can hold.
    sums = {name: min(each, MAX_AMOUNT) for name, each in entry.requested.items()}
    requested = {**sums, "pods": len(entry.pods)}
    pods = sorted(store.on_node(entry), key=lambda each: (-each.since, each.name))
    return {
        "name": name,
        "labels": dict(facts.labels),
        "taints": list(facts.taints),
        "conditions": list(facts.conditions),
        "allocatable": dict(facts.allocatable),
        "requested": requested,
        "used": dict(entry.used or {}),
        "resources": _resources(entry, requested),
        "thresholds": dict(store.thresholds),
        "zones": _zones(known.zones.get(name)),
        "devices": _devices(known, name),
        "nominated": sorted(store.pods[uid].name for uid in entry.nominated if uid in store.pods),
        "pods": [_pod(each) for each in pods[offset : offset + limit]],
        "totalPods": len(pods),
        "history": [each._asdict() for each in _history(entry, pods)],
        "requestedHistory": store.requested.read_slot(entry.slot, entry.since),
    }


def _resources(entry: NodeEntry, requested: dict[str, int]) -> list[dict[str, Any]]:
    offered = entry.facts.allocatable if entry.facts is not None else {}
    used = entry.used or {}
    rows = []
    for name in in_order(offered.keys() | requested.keys() | {"cpu", "memory", "pods"}):
        amounts = {
            "allocatable": offered.get(name),
            "requested": requested.get(name, 0),
            "used": used.get(name),
        }
        texts = {key: None if each is None else amount_text(name, each) for key, each in amounts.items()}
        rows.append({"resource": name, **amounts, "text": texts})
    return rows


def _zones(found: NodeResourceTopology | None) -> list[dict[str, Any]]:
    if found is None:
        return []
    return [
        {
            "zone": zone.name,
            "resources": [
                {
                    "resource": each.name,
                    "allocatable": _amount(each, each.allocatable),
                    "available": _amount(each, each.available),
                }
                for each in zone.resources
            ],
        }
        for zone in found.zones
        if zone.type == "Node"
    ]


def _devices(known: Known, node: str) -> dict[str, Any]:
    """Return the devices of a node, each with its claims, and the pods for which these are reserved."""
    found = known.devices.list_devices(node)
    pods = known.store.pods
    items = [
        {
            "driver": device.driver,
            "pool": device.pool,
            "device": device.name,
            "claims": [
                {
                    "claim": claim.key,
                    "share": share,
                    "pods": [pods[uid].name for uid in claim.reserved if uid in pods][:MOST_USERS],
                }
                for claim, share in islice(known.devices.iter_holders(device), MOST_USERS)
            ],
        }
        for device in found[:MOST_DEVICES]
    ]
    return {
        "total": len(found),
        "free": sum(not any(known.devices.iter_holders(each)) for each in found),
        "items": items,
    }


def _amount(resource: ZoneResource, value: str | float | None) -> int | None:
    try:
        return None if value is None else amount(resource.name, value)
    except QuantityError:
        return None


def _pod(each: PodEntry) -> dict[str, Any]:
    return {
        "name": each.name,
        "since": each.since,
        "priority": each.priority,
        "requests": requests_text(each.requests),
        "owner": each.task_class,
    }


def _history(entry: NodeEntry, pods: list[PodEntry]) -> list[Happening]:
    """Return the events of a node, newest first, with bindings of pods from before the dashboard started."""
    seen = {each.pod for each in entry.history if each.what == "bound"}
    before = (Happening(each.since, "bound", each.name) for each in pods if each.name not in seen)
    return sorted((*entry.history, *before), key=lambda each: -each.at)[:HISTORY]
