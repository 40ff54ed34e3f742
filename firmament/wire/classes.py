"""Decodes classes, and limits the numbers that one class may state, so that one tenant cannot delay all others.

Kubernetes limits a pod's spec only by its size in bytes. `LIMITS` limits the work of a round: the work for one class
grows with the numbers in `LIMITS`, times machines or classes, so a class that exceeds one of these numbers is invalid
and has that as its reason. The limits are far above what users write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from firmament.core.model import QOS_CLASSES, Disk, HostPort, NewStorage, TaskClass
from firmament.wire import class_rules as rules
from firmament.wire.checks import (
    Decoder,
    check_choice,
    check_sorted_quantities,
    decode_distinct,
    decode_each,
    decode_node_term,
    refuse,
)
from protos.firmament.v1 import scheduler_pb2 as pb


def class_from_proto(message: pb.TaskClass) -> tuple[int, TaskClass]:
    """Check and decode a class; return it with the number that the client gave it.

    Raise ``InvalidEventError`` if the message is invalid. If the client marks a class as invalid, its rules are not
    decoded: its tasks are never placed, and often one of these rules is the fault. A class that exceeds `LIMITS` is
    marked as invalid. Only fields that are set are visited, because most of them are not set.
    """
    if not message.id:
        raise refuse("TaskClass", "id", "is 0; number classes from 1")
    subject = f"TaskClass {message.id}"
    beyond = explain_excess(message)
    decoders = _FIELDS if message.invalid or beyond else _DECODERS
    fields: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        name = descriptor.name
        decoder = decoders.get(name)
        if decoder is not None:
            fields[name] = decoder(subject, name, value)
    if beyond:
        fields["invalid"] = fields.get("invalid") or beyond
        for name in OF_NO_USE_BEYOND:
            fields.pop(name, None)
    return message.id, TaskClass(**fields)


def _plain(_: str, __: str, value: Any) -> Any:
    return value


def _texts(_: str, __: str, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _pairs(_: str, __: str, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


_FIELDS: Mapping[str, Decoder[Any]] = {
    "requests": check_sorted_quantities,
    "namespace": _plain,
    "labels": _pairs,
    "annotations": _pairs,
    "machine": _plain,
    "invalid": _plain,
    "ports": decode_distinct(rules.decode_port, HostPort),
    "images": _texts,
    "terminating": _plain,
    "runs_to_completion": _plain,
    "run_seconds": _plain,
    "attachments": decode_distinct(rules.decode_attachment, lambda *names: names),
    "new_storage": rules.make_storage_decoder(NewStorage, "total"),
    "disks": decode_distinct(rules.decode_disk, Disk),
    "claims": decode_each(rules.decode_task_claim),
    "containers": decode_each(rules.decode_container),
    "qos": partial(check_choice, allowed=QOS_CLASSES, what="a QoS class", more=", or none"),
    "overhead": check_sorted_quantities,
    "limits": check_sorted_quantities,
    "service_class": _plain,
    "daemon": _plain,
    "never_preempts": _plain,
    "assumed": check_sorted_quantities,
    "queue": _plain,
    "group": _plain,
    "profile": _plain,
    "flavor_group": _plain,
}
"""Decoders by field, without the rules about where tasks may go."""

_RULES: Mapping[str, Decoder[Any]] = {
    "node_selector": _pairs,
    "required": decode_each(decode_node_term),
    "preferred": decode_each(rules.decode_preferred),
    "tolerations": decode_each(rules.decode_toleration),
    "affinity": decode_each(rules.decode_task_term),
    "anti_affinity": decode_each(rules.decode_task_term),
    "preferred_affinity": decode_each(partial(rules.decode_task_term, weighted=True)),
    "preferred_anti_affinity": decode_each(partial(rules.decode_task_term, weighted=True)),
    "spread": decode_each(rules.decode_spread_rule),
    "volumes": decode_each(rules.decode_volume),
}
"""Decoders, by field, of the rules about where tasks may go."""

_DECODERS = {**_FIELDS, **_RULES}


# --- limits on what a class may state --------------------------------------------------------------------------------

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
