"""Who took the room that a pod waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from poseidon.ui.views.flow.arcs import arcs_of, class_label

if TYPE_CHECKING:
    from poseidon.explanations import Verdict
    from poseidon.ui.cluster.records import PodRecord
    from poseidon.ui.known import Known
    from protos.firmament.v1 import scheduler_pb2 as pb

_MOST = 10
_LOOKED_AT = 200
_FULL = ("Insufficient ", "Too many pods")


def takers(
    known: Known, record: PodRecord, found: Mapping[str, Verdict], flow: pb.RoundFlow | None
) -> list[dict[str, Any]]:
    """Return who is on the nodes that refuse a pod for want of room alone: classes that the last round placed there.

    Where the round placed nobody there, the largest pods that run there.
    """
    full = {
        name
        for name, each in found.items()
        if not each.feasible and each.reasons and all(reason.startswith(_FULL) for reason in each.reasons)
    }
    by_class = _placed_lately(flow, full) if flow is not None else []
    return by_class or _largest(known, record, full)


def _placed_lately(flow: pb.RoundFlow, full: set[str]) -> list[dict[str, Any]]:
    tasks: Counter[int] = Counter()
    example: dict[int, str] = {}
    for arc in arcs_of(flow):
        if flow.machines[arc.machine] in full:
            tasks[arc.cls] += arc.tasks
            example.setdefault(arc.cls, flow.machines[arc.machine])
    return [
        {"class": class_label(flow.classes[cls]), "tasks": count, "node": example[cls]}
        for cls, count in tasks.most_common(_MOST)
    ]


def _largest(known: Known, record: PodRecord, full: set[str]) -> list[dict[str, Any]]:
    wanted = record.requests or {"pods": 1}
    looked_at = [known.store.nodes[name] for name in sorted(full) if name in known.store.nodes][:_LOOKED_AT]
    pods = [each for entry in looked_at for each in known.store.on_node(entry)]
    resource = max(wanted, key=lambda name: _scarcity(looked_at, name, wanted[name]))
    pods.sort(key=lambda each: (-each.requests.get(resource, 0), each.name))
    return [{"pod": each.name, "tasks": 1, "node": each.node} for each in pods[:_MOST]]


def _scarcity(entries: list[Any], resource: str, amount: int) -> float:
    """Return how much of what nodes offer a pod asks for, on average."""
    offered = [entry.facts.allocatable.get(resource, 0) for entry in entries if entry.facts is not None]
    return amount * len(offered) / max(sum(offered), 1)
