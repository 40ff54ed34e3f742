"""Decodes classes, and marks those that exceed `firmament.wire.class_limits` as invalid before it decodes anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

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
from firmament.wire.class_limits import OF_NO_USE_BEYOND, explain_excess
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
