"""How much a class may ask for: what one tenant writes into one spec must not hold up the rounds of all.

Kubernetes bounds a pod by its bytes alone. The work of a round is bounded here instead: what it does for one class
grows with the numbers below, times machines or classes, and a class beyond any of them is set aside with the reason.
Far more than people write, they are counted before anything is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from protos.firmament.v1 import scheduler_pb2 as pb


class Limit(NamedTuple):
    """At most so many of something, which a person knows by this name."""

    what: str
    most: int
    count: Callable[[pb.TaskClass], int]


def _over_machines(message: pb.TaskClass) -> Iterator[pb.NodeSelectorTerm]:
    yield from message.required
    for preferred in message.preferred:
        yield preferred.term
    for volume in message.volumes:
        yield from volume.terms


def _selectors(message: pb.TaskClass) -> Iterator[pb.TaskSelector]:
    for term in _between_tasks(message):
        yield term.selector
    for rule in message.spread:
        yield rule.selector


def _between_tasks(message: pb.TaskClass) -> Iterator[pb.TaskTerm]:
    yield from message.affinity
    yield from message.anti_affinity
    yield from message.preferred_affinity
    yield from message.preferred_anti_affinity


def _requirements(message: pb.TaskClass) -> Iterator[pb.Requirement]:
    for term in _over_machines(message):
        yield from term.labels
        yield from term.fields
    for selector in _selectors(message):
        yield from selector.labels
        yield from selector.namespaces_by_label.labels


def _counted(items: Iterable[object]) -> int:
    return sum(1 for _ in items)


def _values(message: pb.TaskClass) -> int:
    return sum(len(each.values) for each in _requirements(message)) + sum(
        len(each.namespaces) for each in _selectors(message)
    )


LIMITS = (
    Limit("resources in requests", 128, lambda message: len(message.requests)),
    Limit("labels in the node selector", 500, lambda message: len(message.node_selector)),
    Limit("terms of node affinity and volumes", 500, lambda message: _counted(_over_machines(message))),
    Limit("tolerations", 1_000, lambda message: len(message.tolerations)),
    Limit("terms of pod affinity and anti-affinity", 100, lambda message: _counted(_between_tasks(message))),
    Limit("topology spread constraints", 16, lambda message: len(message.spread)),
    Limit("expressions in selectors", 500, lambda message: _counted(_requirements(message))),
    Limit("values in selectors", 20_000, _values),
    Limit("host ports", 1_000, lambda message: len(message.ports)),
    Limit("volumes bound to nodes", 500, lambda message: len(message.volumes)),
    Limit("containers", 200, lambda message: max(len(message.containers), len(message.images))),
)


def beyond_limits(message: pb.TaskClass) -> str:
    """Say what a class has too much of, and what to do; empty if there is nothing."""
    for limit in LIMITS:
        count = limit.count(message)
        if count > limit.most:
            return f"the pod has {count} {limit.what}; at most {limit.most} are supported, use fewer"
    return ""
