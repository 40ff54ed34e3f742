"""Describes what one task of a gang has left on its machine, and reads it from drivers' records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from firmament.core.model import HostPort

_MOST = 2**53
"""Limit on an amount: no machine offers more of anything, and sums of a thousand such amounts fit into 64 bits."""


class RestartRoom(NamedTuple):
    """What one task has left on its machine (its *room*), kept for another task of its job."""

    machine: str
    """Name of the machine that the task left."""
    job: str
    """ID of the task's job."""
    priority: int
    """Priority of the task that left."""
    requests: Mapping[str, int]
    """What the task requested: base units by resource, including ``pods``."""
    ports: tuple[HostPort, ...]
    """The host ports that the task used."""
    devices: bool
    """Whether the task had claims of devices."""
    namespace: str
    """Namespace of the job; only tasks of this namespace get messages with the job's name."""
    name: str
    """Name of the job, for messages."""
    until: str
    """The time at which the kept capacity lapses, for messages."""
    arrival_number: int
    """Arrival number of the record, in the order of ``tasks.arrival_number``."""


def read_room(payload: bytes, arrival_number: int) -> RestartRoom | None:
    """Read the payload of a record with arrival number ``arrival_number``; return None for other content."""
    try:
        content = json.loads(payload)
        requests = content["requests"].items()
        ports = [HostPort(int(port), str(protocol), str(ip)) for protocol, port, ip in content["ports"]]
        return RestartRoom(
            machine=str(content["machine"]),
            job=str(content["job"]),
            priority=int(content["priority"]),
            requests={str(name): min(max(int(amount), 0), _MOST) for name, amount in requests},
            ports=tuple(ports),
            devices=bool(content["devices"]),
            namespace=str(content["namespace"]),
            name=str(content["name"]),
            until=str(content["until"]),
            arrival_number=arrival_number,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
