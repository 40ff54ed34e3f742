"""Defines the messages of the original Firmament's gRPC service that a comparison needs, with their field numbers.

Described here field by field instead of in a ``.proto`` file, so that no generated code has to be kept; fields that a
comparison does not set are left out, which protobuf allows. They live in a pool of their own: names like those of the
original may exist elsewhere in the process.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "/firmament.FirmamentScheduler/"

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "string": _Field.TYPE_STRING,
    "uint64": _Field.TYPE_UINT64,
    "int32": _Field.TYPE_INT32,  # the protocol sends enumerations as whole numbers
    "bool": _Field.TYPE_BOOL,
    "float": _Field.TYPE_FLOAT,
}

MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "ScheduleRequest": {},
    "SchedulingDelta": {"task_id": (1, "uint64"), "resource_id": (2, "string"), "type": (3, "int32")},
    "SchedulingDeltas": {"deltas": (1, "*SchedulingDelta")},
    "ResourceVector": {"cpu_cores": (1, "float"), "ram_cap": (3, "uint64")},
    "ResourceDescriptor": {
        "uuid": (1, "string"),
        "friendly_name": (2, "string"),
        "state": (4, "int32"),
        "task_capacity": (5, "uint64"),
        "type": (7, "int32"),
        "schedulable": (8, "bool"),
        "available_resources": (12, "ResourceVector"),
        "resource_capacity": (18, "ResourceVector"),
        "max_pods": (35, "uint64"),
    },
    "ResourceTopologyNodeDescriptor": {
        "resource_desc": (1, "ResourceDescriptor"),
        "children": (2, "*ResourceTopologyNodeDescriptor"),
        "parent_id": (3, "string"),
    },
    "TaskDescriptor": {
        "uid": (1, "uint64"),
        "name": (2, "string"),
        "state": (3, "int32"),
        "job_id": (4, "string"),
        "resource_request": (26, "ResourceVector"),
    },
    "JobDescriptor": {
        "uuid": (1, "string"),
        "name": (2, "string"),
        "state": (3, "int32"),
        "root_task": (4, "TaskDescriptor"),
    },
    "TaskDescription": {"task_descriptor": (1, "TaskDescriptor"), "job_descriptor": (2, "JobDescriptor")},
    "Reply": {"type": (1, "int32")},
}
"""Number and type of each field by message; ``*``: repeated. ``Reply`` stands for all answers that are a single
code.
"""

DELTA_PLACE = 1
TASK_SUBMITTED_OK, NODE_ADDED_OK = 1, 0
RESOURCE_IDLE, RESOURCE_PU, RESOURCE_MACHINE = 1, 0, 6


@cache
def messages() -> dict[str, Any]:
    """Return the message classes by name."""
    file = descriptor_pb2.FileDescriptorProto(name="original.proto", package="firmament", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            added = message.field.add(name=field, number=number)
            added.label = _Field.LABEL_REPEATED if kind.startswith("*") else _Field.LABEL_OPTIONAL
            scalar = _KINDS.get(kind)
            if scalar is None:
                added.type, added.type_name = _Field.TYPE_MESSAGE, f".firmament.{kind.lstrip('*')}"
            else:
                added.type = scalar
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"firmament.{name}"))
        for name in MESSAGES
    }
