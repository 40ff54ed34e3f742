"""Decodes the fields that few classes have: special needs of tasks, rules about machines, and rules between tasks.

Each decoder takes three arguments: the class (for errors), the field's name, and the field's value. Each decoder
raises ``InvalidEventError`` if the value is invalid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from firmament.core.model import (
    EFFECTS,
    PROTOCOLS,
    Container,
    NewStorage,
    PreferredTerm,
    SpreadRule,
    StorageRoom,
    TaskClaim,
    TaskSelector,
    TaskTerm,
    Toleration,
    VolumeRule,
)
from firmament.wire.checks import (
    SET_OPERATORS,
    Decoder,
    check_amount,
    check_choice,
    check_required,
    check_sorted_quantities,
    check_within,
    decode_each,
    decode_node_term,
    decode_requirements,
    refuse,
)
from protos.firmament.v1 import scheduler_pb2 as pb

Storage = TypeVar("Storage", StorageRoom, NewStorage)

_CONTAINER_KINDS = {pb.Container.APP: "app", pb.Container.INIT: "init", pb.Container.SIDECAR: "sidecar"}
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - compared with, never listened on


def check_effect(subject: str, field: str, effect: str) -> str:
    """Return a taint's effect; refuse one that Kubernetes does not know."""
    return check_choice(subject, f"{field}.effect", effect, EFFECTS, "an effect")


# --- what tasks ask for ---------------------------------------------------------------------------------------------


def decode_attachment(subject: str, field: str, message: pb.Attachment) -> tuple[str, str]:
    """Decode an `Attachment`: return its resource and volume."""
    for name in ("resource", "volume"):
        if not getattr(message, name):
            raise refuse(subject, f"{field}.{name}", "is empty; it is required")
    return message.resource, message.volume


def decode_container(subject: str, field: str, message: pb.Container) -> Container:
    """Check and decode a container."""
    kind = _CONTAINER_KINDS.get(message.kind)
    if kind is None:
        raise refuse(subject, f"{field}.kind", f"{message.kind} is not a kind; use APP, INIT or SIDECAR")
    requests = check_sorted_quantities(subject, f"{field}.requests", message.requests)
    return Container(
        message.name, kind, requests, check_sorted_quantities(subject, f"{field}.limits", message.limits)
    )


def decode_port(subject: str, field: str, message: pb.HostPort) -> tuple[int, str, str]:
    """Decode a `HostPort`: return its port, protocol and address."""
    port = check_within(subject, f"{field}.port", message.port, 1, 65535)
    protocol = check_choice(subject, f"{field}.protocol", message.protocol or "TCP", PROTOCOLS, "a protocol")
    return port, protocol, "" if message.ip == _ALL_ADDRESSES else message.ip


def decode_disk(subject: str, field: str, message: pb.Disk) -> tuple[str, bool, bool]:
    """Decode a `Disk`: return its name, whether it is only read, and whether it is a claim."""
    return check_required(subject, f"{field}.name", message.name), message.read_only, message.claim


def make_storage_decoder(kind: type[Storage], together: str) -> Decoder[tuple[Storage, ...]]:
    """Return a decoder of entries by storage class.

    Each entry has the bytes of the largest volume, and those of the field ``together``.
    """

    def decode(subject: str, field: str, messages: Iterable[Any]) -> tuple[Storage, ...]:
        found: dict[str, Storage] = {}
        for index, message in enumerate(messages):
            where = f"{field}[{index}]"
            largest = check_amount(subject, f"{where}.largest", message.largest)
            total = check_amount(subject, f"{where}.{together}", getattr(message, together))
            name = check_required(subject, f"{where}.storage_class", message.storage_class)
            if name in found:
                fault = f"{name} is given twice; send one entry for each"
                raise refuse(subject, f"{where}.storage_class", fault)
            found[name] = kind(name, largest, total)
        return tuple(found[name] for name in sorted(found))

    return decode


storage_rooms = make_storage_decoder(StorageRoom, "capacity")
"""Decodes the storage that a machine reaches for new volumes, by storage class."""


def decode_task_claim(subject: str, field: str, message: pb.TaskClaim) -> TaskClaim:
    """Check and decode a task's claim of devices."""
    check_required(f"{subject}: {field}", "name", message.name)
    if bool(message.claim) == bool(message.spec):
        given = "both given" if message.claim else "both empty"
        raise refuse(subject, field, f"claim and spec are {given}; send exactly one of them")
    return TaskClaim(message.name, message.claim, message.spec)


# --- rules about machines -------------------------------------------------------------------------------------------


def decode_preferred(subject: str, field: str, message: pb.PreferredTerm) -> PreferredTerm:
    """Check and decode a preferred term of node affinity."""
    weight = check_within(subject, f"{field}.weight", message.weight, 1, 100)
    return PreferredTerm(weight, decode_node_term(subject, f"{field}.term", message.term))


def decode_volume(subject: str, field: str, message: pb.VolumeRule) -> VolumeRule:
    """Check and decode the rule about the machines that reach a volume."""
    return VolumeRule(
        decode_each(decode_node_term)(subject, f"{field}.terms", message.terms),
        message.reason,
        message.in_use,
    )


def decode_toleration(subject: str, field: str, message: pb.Toleration) -> Toleration:
    """Check and decode a toleration."""
    allowed = ("Equal", "Exists", "Gt", "Lt")
    operator = check_choice(subject, f"{field}.operator", message.operator or "Equal", allowed, "an operator")
    if not message.key and operator != "Exists":
        raise refuse(subject, f"{field}.key", "is empty; only Exists takes every key")
    if message.effect:
        check_effect(subject, field, message.effect)
    return Toleration(message.key, operator, message.value, message.effect)


# --- rules between tasks --------------------------------------------------------------------------------------------


def decode_task_term(subject: str, field: str, message: pb.TaskTerm, *, weighted: bool = False) -> TaskTerm:
    """Check and decode a term of pod affinity or anti-affinity; if ``weighted``, it needs a weight."""
    weight = check_within(subject, f"{field}.weight", message.weight, 1, 100) if weighted else 0
    key = check_required(f"{subject}: {field}", "topology_key", message.topology_key)
    return TaskTerm(key, _selector(subject, f"{field}.selector", message.selector), weight)


def decode_spread_rule(subject: str, field: str, message: pb.SpreadRule) -> SpreadRule:
    """Check and decode a topology spread constraint."""
    if message.max_skew < 1:
        raise refuse(subject, f"{field}.max_skew", f"{message.max_skew} is out of range; use 1 or more")
    if message.min_domains < 0:
        raise refuse(subject, f"{field}.min_domains", f"{message.min_domains} is negative; use 0 or more")
    if message.min_domains and not message.required:
        raise refuse(subject, f"{field}.min_domains", "is given; only required rules take it")
    return SpreadRule(
        topology_key=check_required(f"{subject}: {field}", "topology_key", message.topology_key),
        selector=_selector(subject, f"{field}.selector", message.selector),
        max_skew=message.max_skew,
        required=message.required,
        min_domains=message.min_domains,
        ignore_node_affinity=message.ignore_node_affinity,
        honor_taints=message.honor_taints,
    )


def _selector(subject: str, field: str, message: pb.TaskSelector) -> TaskSelector:
    by_label = None
    if message.HasField("namespaces_by_label"):
        where, given = f"{field}.namespaces_by_label", message.namespaces_by_label.labels
        by_label = decode_requirements(subject, where, given, operators=SET_OPERATORS)
    return TaskSelector(
        labels=decode_requirements(subject, f"{field}.labels", message.labels, operators=SET_OPERATORS),
        nothing=message.nothing,
        namespaces=tuple(sorted(set(message.namespaces))),
        namespace_labels=by_label,
    )
