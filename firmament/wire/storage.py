"""Decodes what volumes can be made on machines, what volumes are to be made for tasks, and what disks they mount."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from firmament.core.model import MAX_QUANTITY, Disk, NewStorage, StorageRoom
from firmament.wire.checks import refuse, required

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


def storage_rooms(subject: str, messages: Iterable[pb.StorageRoom]) -> tuple[StorageRoom, ...]:
    """Return what a machine has room for, by storage class. Raises ``InvalidEventError``."""
    found: dict[str, StorageRoom] = {}
    for index, message in enumerate(messages):
        field = f"storage[{index}]"
        largest = _bytes(subject, f"{field}.largest", message.largest)
        capacity = _bytes(subject, f"{field}.capacity", message.capacity)
        name = _new_name(subject, field, message.storage_class, found)
        found[name] = StorageRoom(name, largest, capacity)
    return tuple(found[name] for name in sorted(found))


def new_storage(subject: str, field: str, messages: Iterable[pb.NewStorage]) -> tuple[NewStorage, ...]:
    """Return what is to be made for a task, by storage class. Raises ``InvalidEventError``."""
    found: dict[str, NewStorage] = {}
    for index, message in enumerate(messages):
        where = f"{field}[{index}]"
        largest = _bytes(subject, f"{where}.largest", message.largest)
        total = _bytes(subject, f"{where}.total", message.total)
        name = _new_name(subject, where, message.storage_class, found)
        found[name] = NewStorage(name, largest, total)
    return tuple(found[name] for name in sorted(found))


def disks(subject: str, field: str, messages: Iterable[pb.Disk]) -> tuple[Disk, ...]:
    """Return the disks that a task mounts, without repetition. Raises ``InvalidEventError``."""
    found = {
        (required(subject, f"{field}[{index}].name", message.name), message.read_only)
        for index, message in enumerate(messages)
    }
    return tuple(Disk(*each) for each in sorted(found))


def _new_name(subject: str, field: str, name: str, found: Iterable[str]) -> str:
    """Return a storage class's name, which must be there and not among those ``found``."""
    if required(subject, f"{field}.storage_class", name) in found:
        raise refuse(subject, f"{field}.storage_class", f"{name} is given twice; send one entry for each")
    return name


def _bytes(subject: str, field: str, amount: int) -> int:
    if not 0 <= amount <= MAX_QUANTITY:
        fault = "is negative" if amount < 0 else "is absurdly large"
        raise refuse(subject, field, f"{amount} {fault}; send 0 to {MAX_QUANTITY}")
    return amount
