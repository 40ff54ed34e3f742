"""What a solver has been told, whatever the numbers of classes and the order of events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.json_format import MessageToDict

from protos.firmament.v1 import scheduler_pb2 as pb

_OF_EACH = ("uids", "names", "created", "assigned", "initialized")


def told(events: Iterable[pb.Event]) -> dict[str, Any]:
    """Machines, jobs, records and samples by name; of each task where it is, its class in full, its job, its times."""
    classes: dict[int, bytes] = {}
    found: dict[str, Any] = {}
    for event in events:
        body = event.WhichOneof("body")
        message = getattr(event, str(body))
        if body == "task_class":
            described = pb.TaskClass()
            described.CopyFrom(message)
            described.id = 0
            classes[message.id] = described.SerializeToString(deterministic=True)
        elif body in ("tasks", "bound"):
            _take_tasks(found, str(body), message, classes)
        elif body == "record":
            found[f"record {message.key.kind} {message.key.name}"] = message.payload
        elif body == "machine":
            found[f"machine {message.name}"] = _machine(message)
        elif body == "job":
            found[f"job {message.id}"] = MessageToDict(message)
        elif body == "machine_sample":
            found[f"sample {message.machine}"] = MessageToDict(message)
        else:
            found.setdefault(str(body), []).append(str(message))
    return {key: sorted(each) if isinstance(each, list) else each for key, each in found.items()}


def _machine(message: pb.Machine) -> dict[str, Any]:
    plain = MessageToDict(message)
    for key in ("images", "taints"):
        plain[key] = sorted(plain.get(key, ()), key=str)
    return plain


def _take_tasks(found: dict[str, Any], body: str, message: Any, classes: dict[int, bytes]) -> None:
    plain = MessageToDict(message, preserving_proto_field_name=True)
    for key in (*_OF_EACH, "task_class"):
        plain.pop(key, None)
    times = [[*getattr(message, key, ())] for key in _OF_EACH[2:]]
    for index, name in enumerate(message.names):
        own = [each[index] if each else None for each in times]
        found[f"task {name}"] = (body, plain, classes[message.task_class], own)
