"""Decodes classes, and refuses those that ask for too much: what one tenant writes into one spec must not hold up all.

Kubernetes bounds a pod by its bytes alone. The work of a round is bounded here instead: what it does for one class
grows with the numbers in `LIMITS`, times machines or classes, and a class beyond any of them is set aside with the
reason. Far more than people write, they are counted before anything is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from firmament.core.model import (
    EFFECTS,
    QOS_CLASSES,
    Container,
    PreferredTerm,
    TaskClass,
    Toleration,
    VolumeRule,
)
from firmament.wire.checks import node_term, node_terms, quantities, refuse
from firmament.wire.storage import disks, new_storage
from firmament.wire.task_rules import ports, spread_rules, task_terms
from protos.firmament.v1 import scheduler_pb2 as pb

_CONTAINER_KINDS = {pb.Container.APP: "app", pb.Container.INIT: "init", pb.Container.SIDECAR: "sidecar"}
_EFFECT_LIST = ", ".join(sorted(EFFECTS))


def class_from_proto(message: pb.TaskClass) -> tuple[int, TaskClass]:
    """Return the class and the number that the client gave it. Raises ``InvalidEventError``.

    The rules of a class that calls itself invalid are dropped unread: its tasks are never placed, and what is
    wrong with them is often one of these rules. So it is with a class beyond the limits of `LIMITS`, which says
    so from here on. Only fields that are set are looked at: of two dozen most are not.
    """
    if not message.id:
        raise refuse("TaskClass", "id", "is 0; number classes from 1")
    subject = f"TaskClass {message.id}"
    beyond = beyond_limits(message)
    decoders = _DECODERS_OF_INVALID if message.invalid or beyond else _DECODERS
    fields: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        name = descriptor.name
        decoder = decoders.get(name)
        if decoder is not None:
            fields[name] = decoder(subject, name, value)
    if beyond:
        fields["invalid"] = fields.get("invalid") or beyond
        for name in _OF_NO_USE_BEYOND:
            fields.pop(name, None)
    return message.id, TaskClass(**fields)


def check_effect(subject: str, field: str, effect: str) -> str:
    """Return a taint's effect, or raise if it is none that Kubernetes knows."""
    if effect not in EFFECTS:
        raise refuse(subject, f"{field}.effect", f"{effect!r} is not an effect; use one of {_EFFECT_LIST}")
    return effect


# --- fields ---------------------------------------------------------------------------------------------------------
# Each decoder takes the class, for errors, the field's name and its value.


def _plain(_: str, __: str, value: Any) -> Any:
    return value


def _texts(_: str, __: str, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _pairs(_: str, __: str, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _amounts(subject: str, field: str, items: Iterable[pb.Quantity]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(quantities(subject, field, items).items()))


def _attachments(subject: str, field: str, messages: Iterable[pb.Attachment]) -> tuple[tuple[str, str], ...]:
    found = set()
    for index, message in enumerate(messages):
        for name in ("resource", "volume"):
            if not getattr(message, name):
                raise refuse(subject, f"{field}[{index}].{name}", "is empty; it is required")
        found.add((message.resource, message.volume))
    return tuple(sorted(found))


def _preferred(subject: str, field: str, messages: Iterable[pb.PreferredTerm]) -> tuple[PreferredTerm, ...]:
    terms = []
    for index, message in enumerate(messages):
        where = f"{field}[{index}]"
        if not 1 <= message.weight <= 100:
            raise refuse(subject, f"{where}.weight", f"{message.weight} is out of range; use 1 to 100")
        terms.append(PreferredTerm(message.weight, node_term(subject, f"{where}.term", message.term)))
    return tuple(terms)


def _volumes(subject: str, field: str, messages: Iterable[pb.VolumeRule]) -> tuple[VolumeRule, ...]:
    return tuple(
        VolumeRule(
            node_terms(subject, f"{field}[{index}].terms", message.terms), message.reason, message.in_use
        )
        for index, message in enumerate(messages)
    )


def _containers(subject: str, field: str, messages: Iterable[pb.Container]) -> tuple[Container, ...]:
    return tuple(_container(subject, f"{field}[{index}]", message) for index, message in enumerate(messages))


def _container(subject: str, field: str, message: pb.Container) -> Container:
    kind = _CONTAINER_KINDS.get(message.kind)
    if kind is None:
        raise refuse(subject, f"{field}.kind", f"{message.kind} is not a kind; use APP, INIT or SIDECAR")
    requests = _amounts(subject, f"{field}.requests", message.requests)
    return Container(message.name, kind, requests, _amounts(subject, f"{field}.limits", message.limits))


def _qos(subject: str, field: str, qos: str) -> str:
    if qos not in QOS_CLASSES:
        allowed = ", ".join(sorted(QOS_CLASSES))
        raise refuse(subject, field, f"{qos!r} is not a QoS class; use one of {allowed}, or none")
    return qos


def _tolerations(subject: str, field: str, messages: Iterable[pb.Toleration]) -> tuple[Toleration, ...]:
    return tuple(_toleration(subject, f"{field}[{index}]", message) for index, message in enumerate(messages))


def _toleration(subject: str, field: str, message: pb.Toleration) -> Toleration:
    operator = message.operator or "Equal"
    if operator not in {"Equal", "Exists", "Gt", "Lt"}:
        allowed = "use Equal, Exists, Gt or Lt"
        raise refuse(subject, f"{field}.operator", f"{operator!r} is not an operator; {allowed}")
    if not message.key and operator != "Exists":
        raise refuse(subject, f"{field}.key", "is empty; only Exists takes every key")
    if message.effect:
        check_effect(subject, field, message.effect)
    return Toleration(message.key, operator, message.value, message.effect)


_Decoder: TypeAlias = Callable[[str, str, Any], Any]

_RULES: Mapping[str, _Decoder] = {
    "node_selector": _pairs,
    "required": node_terms,
    "preferred": _preferred,
    "tolerations": _tolerations,
    "affinity": task_terms,
    "anti_affinity": task_terms,
    "preferred_affinity": partial(task_terms, weighted=True),
    "preferred_anti_affinity": partial(task_terms, weighted=True),
    "spread": spread_rules,
    "volumes": _volumes,
}
_DECODERS_OF_INVALID: Mapping[str, _Decoder] = MappingProxyType(
    {
        "requests": _amounts,
        "namespace": _plain,
        "labels": _pairs,
        "annotations": _pairs,
        "machine": _plain,
        "invalid": _plain,
        "ports": ports,
        "images": _texts,
        "terminating": _plain,
        "runs_to_completion": _plain,
        "attachments": _attachments,
        "new_storage": new_storage,
        "disks": disks,
        "containers": _containers,
        "qos": _qos,
        "overhead": _amounts,
        "limits": _amounts,
        "service_class": _plain,
        "daemon": _plain,
        "never_preempts": _plain,
        "assumed": _amounts,
    }
)
_OF_NO_USE_BEYOND = ("images", "containers", "limits")
"""What only costs look at, and models in detail; of a class beyond the limits they see its requests."""

_DECODERS: Mapping[str, _Decoder] = MappingProxyType({**_DECODERS_OF_INVALID, **_RULES})


class ClassLimit(NamedTuple):
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
    ClassLimit("resources in requests", 128, lambda message: len(message.requests)),
    ClassLimit("labels in the node selector", 500, lambda message: len(message.node_selector)),
    ClassLimit("terms of node affinity and volumes", 500, lambda message: _counted(_over_machines(message))),
    ClassLimit("tolerations", 1_000, lambda message: len(message.tolerations)),
    ClassLimit(
        "terms of pod affinity and anti-affinity", 100, lambda message: _counted(_between_tasks(message))
    ),
    ClassLimit("topology spread constraints", 16, lambda message: len(message.spread)),
    ClassLimit("expressions in selectors", 500, lambda message: _counted(_requirements(message))),
    ClassLimit("values in selectors", 20_000, _values),
    ClassLimit("host ports", 1_000, lambda message: len(message.ports)),
    ClassLimit("disks without claims", 500, lambda message: len(message.disks)),
    ClassLimit("volumes bound to nodes", 500, lambda message: len(message.volumes)),
    ClassLimit("storage classes of new volumes", 100, lambda message: len(message.new_storage)),
    ClassLimit("containers", 200, lambda message: max(len(message.containers), len(message.images))),
)


def beyond_limits(message: pb.TaskClass) -> str:
    """Say what a class has too much of, and what to do; empty if there is nothing."""
    for limit in LIMITS:
        count = limit.count(message)
        if count > limit.most:
            return f"the pod has {count} {limit.what}; at most {limit.most} are supported, use fewer"
    return ""
