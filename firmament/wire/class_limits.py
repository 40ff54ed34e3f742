"""Limits the numbers that one task class may state, so that one tenant cannot delay all others.

Kubernetes limits a pod's spec only by its size in bytes. This module limits the work of a round: the work for one
class grows with the numbers in `LIMITS`, times machines or classes, so a class that exceeds one of these numbers is
invalid and has that as its reason. The limits are far above what users write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from protos.firmament.v1 import scheduler_pb2 as pb

OF_NO_USE_BEYOND = ("images", "containers", "limits")
"""Fields that only affect costs; if a class exceeds the limits, cost models see it without these fields."""


class ClassLimit(NamedTuple):
    """A limit on what a class states.

    ``what`` names the limited things in messages, ``most`` is the largest number allowed, and ``count`` counts the
    things in a class.
    """

    what: str
    most: int
    count: Callable[[pb.TaskClass], int]


def _iter_machine_terms(message: pb.TaskClass) -> Iterator[pb.NodeSelectorTerm]:
    yield from message.required
    for preferred in message.preferred:
        yield preferred.term
    for volume in message.volumes:
        yield from volume.terms


def _selectors(message: pb.TaskClass) -> Iterator[pb.TaskSelector]:
    for term in _iter_task_terms(message):
        yield term.selector
    for rule in message.spread:
        yield rule.selector


def _iter_task_terms(message: pb.TaskClass) -> Iterator[pb.TaskTerm]:
    yield from message.affinity
    yield from message.anti_affinity
    yield from message.preferred_affinity
    yield from message.preferred_anti_affinity


def _requirements(message: pb.TaskClass) -> Iterator[pb.Requirement]:
    for term in _iter_machine_terms(message):
        yield from term.labels
        yield from term.fields
    for selector in _selectors(message):
        yield from selector.labels
        yield from selector.namespaces_by_label.labels


def _count(items: Iterable[object]) -> int:
    return sum(1 for _ in items)


def _values(message: pb.TaskClass) -> int:
    return sum(len(each.values) for each in _requirements(message)) + sum(
        len(each.namespaces) for each in _selectors(message)
    )


LIMITS = (
    ClassLimit("resources in requests", 128, lambda message: len(message.requests)),
    ClassLimit("labels in the node selector", 500, lambda message: len(message.node_selector)),
    ClassLimit(
        "terms of node affinity and volumes", 500, lambda message: _count(_iter_machine_terms(message))
    ),
    ClassLimit("tolerations", 1_000, lambda message: len(message.tolerations)),
    ClassLimit(
        "terms of pod affinity and anti-affinity", 100, lambda message: _count(_iter_task_terms(message))
    ),
    ClassLimit("topology spread constraints", 16, lambda message: len(message.spread)),
    ClassLimit("expressions in selectors", 500, lambda message: _count(_requirements(message))),
    ClassLimit("values in selectors", 20_000, _values),
    ClassLimit("host ports", 1_000, lambda message: len(message.ports)),
    ClassLimit("disks without claims", 500, lambda message: len(message.disks)),
    ClassLimit("volumes bound to nodes", 500, lambda message: len(message.volumes)),
    ClassLimit("storage classes of new volumes", 100, lambda message: len(message.new_storage)),
    ClassLimit("claims of devices", 32, lambda message: len(message.claims)),
    ClassLimit("containers", 200, lambda message: max(len(message.containers), len(message.images))),
)


def explain_excess(message: pb.TaskClass) -> str:
    """Return text for people about the first limit that a class exceeds, and what to do; "" if it exceeds none."""
    for limit in LIMITS:
        count = limit.count(message)
        if count > limit.most:
            return f"the pod has {count} {limit.what}; at most {limit.most} are supported, use fewer"
    return ""
