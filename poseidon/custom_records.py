"""Makes records of custom resources for the solver, and keeps the differences that are still to be sent.

The bridge watches custom resources and sends them to the solver as typed records for cost models. A new kind needs a
struct to which objects are decoded, a function that makes a record of an object, and an entry in ``custom_resources``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.parsing.defects import Defect
from protos.firmament.v1 import scheduler_pb2 as pb

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_log = logging.getLogger(__name__)
T = TypeVar("T", bound=KubeStruct)
_Key = tuple[str, str]


class Outbox(Generic[K, V]):
    """The values that the solver needs, by key, with the differences from the values that were sent last.

    Only the latest value of each key counts. Values are compared with later ones, so they must not be modified after
    ``put``; a changed value needs a new object.
    """

    def __init__(self) -> None:
        self._desired: dict[K, V] = {}
        self._sent: dict[K, V] = {}
        self._changed: dict[K, None] = {}

    def __len__(self) -> int:
        return len(self._desired)

    def __contains__(self, key: K) -> bool:
        return key in self._desired

    def __iter__(self) -> Iterator[V]:
        return iter(self._desired.values())

    @property
    def changed(self) -> bool:
        """Whether differences may have to be sent."""
        return bool(self._changed)

    def get(self, key: K) -> V | None:
        """Return the latest value under a key, None if the key has no value."""
        return self._desired.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value under a key; if the value equals the present one, nothing changes."""
        if key not in self._desired or self._desired[key] != value:
            self._desired[key] = value
            self._changed[key] = None

    def drop(self, key: K) -> None:
        """Remove the value under a key."""
        if key in self._desired:
            del self._desired[key]
            self._changed[key] = None

    def begin_stream(self) -> None:
        """Begin a stream to a solver that has no values, so that all values are sent again."""
        self._sent.clear()
        self._changed = dict.fromkeys(self._desired)

    def take_gone(self) -> list[K]:
        """Return the keys whose values were sent and have been removed, each only once."""
        gone = [key for key in self._changed if key not in self._desired]
        for key in gone:
            del self._changed[key]
        return [key for key in gone if self._sent.pop(key, None) is not None]

    def take_changed(self) -> list[tuple[K, V]]:
        """Return the keys and values that are new or differ from the values that were sent last, each only once."""
        changed = [(key, self._desired[key]) for key in self._changed if key in self._desired]
        self._changed = {key: None for key in self._changed if key not in self._desired}
        news = [(key, value) for key, value in changed if key not in self._sent or self._sent[key] != value]
        self._sent.update(news)
        return news


class NameIndex:
    """The names of objects by uid; the deletion of an older object does not remove a new one of the same name."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}

    def put(self, uid: str, name: str) -> None:
        """Set the name of the object with this uid; a former object with this name then has no name any more."""
        self._names[uid] = name
        self._uids[name] = uid

    def remove(self, uid: str) -> str:
        """Remove the object with this uid.

        Return the object's name, "" if the object was unknown or another object now has the name.
        """
        name = self._names.pop(uid, "")
        if self._uids.get(name) != uid:
            return ""
        del self._uids[name]
        return name


class Reading(NamedTuple):
    """The record that is made of an object: its name and payload, and the object's defects."""

    name: str
    payload: bytes
    defects: tuple[Defect, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomResource(Generic[T]):
    """A kind of records, and the API versions of the objects of which they are made.

    ``resources``: these API versions, the preferred one first. ``read``: the function that makes a record of an object.
    """

    kind: str
    resources: tuple[Resource[T], ...]
    read: Callable[[T], Reading]


class CustomRecords:
    """The records by kind and name, and their changes that the current stream has not sent yet.

    An object that is served in several versions gives one record, from the preferred version that is watched. A new
    object with the name of a former object has another uid.
    """

    def __init__(self) -> None:
        self._payloads: dict[_Key, dict[int, tuple[str, bytes]]] = {}
        self._key_of: dict[tuple[str, int, str], _Key] = {}
        self._outbox: Outbox[_Key, bytes] = Outbox()
        self._complaints: dict[_Key, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._payloads)

    def get_handler(self, custom: CustomResource[T], version: int) -> Callable[[Sequence[Change[T]]], None]:
        """Return the function to call with changes of objects of ``custom.resources[version]``."""

        def take_changes(changes: Sequence[Change[T]]) -> None:
            for change in changes:
                if change.object is None:
                    self._remove(custom.kind, version, change.uid)
                else:
                    self._put(custom, version, change.uid, change.object)

        return take_changes

    def set_record(self, kind: str, name: str, payload: bytes | None) -> None:
        """Set the payload of a record that another part of the bridge makes; None removes the record."""
        key = (kind, name)
        if payload is None:
            self._payloads.pop(key, None)
        else:
            self._payloads[key] = {0: ("", payload)}
        self._update(key)

    def _put(self, custom: CustomResource[T], version: int, uid: str, found: T) -> None:
        reading = custom.read(found)
        if not reading.name:
            return
        key = (custom.kind, reading.name)
        if self._key_of.get((custom.kind, version, uid), key) != key:
            self._remove(custom.kind, version, uid)
        self._key_of[custom.kind, version, uid] = key
        self._payloads.setdefault(key, {})[version] = (uid, reading.payload)
        self._update(key)
        self._log_defects(key, reading.defects)

    def _remove(self, kind: str, version: int, uid: str) -> None:
        key = self._key_of.pop((kind, version, uid), None)
        versions = self._payloads.get(key) if key is not None else None
        if key is None or versions is None or versions.get(version, ("", b""))[0] != uid:
            return
        del versions[version]
        if not versions:
            del self._payloads[key]
            self._complaints.pop(key, None)
        self._update(key)

    def _update(self, key: _Key) -> None:
        """Set the payload of a record to the payload of the preferred version."""
        versions = self._payloads.get(key)
        if versions is None:
            self._outbox.drop(key)
        else:
            self._outbox.put(key, versions[min(versions)][1])

    def _log_defects(self, key: _Key, defects: Sequence[Defect]) -> None:
        """Log those defects of an object that it did not have when it was last read."""
        found = tuple(str(defect) for defect in defects)
        for text in found:
            if text not in self._complaints.get(key, ()):
                _log.warning('object has a defect kind=%s name=%s defect="%s"', *key, text)
        self._complaints[key] = found

    def complaints(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Return the defects of a kind's objects, by name of the record."""
        return {name: found for (of_kind, name), found in self._complaints.items() if of_kind == kind}

    def forget_sent(self) -> None:
        """Begin a stream to a solver that has no records, so that all records are sent again."""
        self._outbox.begin_stream()

    @property
    def changed(self) -> bool:
        """Whether ``take_events`` may return events."""
        return self._outbox.changed

    def take_events(self) -> list[pb.Event]:
        """Return events for the records that are new, changed or removed since the last call."""
        gone = [pb.Event(record_removed=_address(key)) for key in self._outbox.take_gone()]
        changed = self._outbox.take_changed()
        return [
            *gone,
            *(pb.Event(record=pb.Record(key=_address(key), payload=each)) for key, each in changed),
        ]


def _address(key: _Key) -> pb.RecordKey:
    return pb.RecordKey(kind=key[0], name=key[1])
