"""What a solver is to know, against what the current stream's solver has been sent; and records for models.

Custom resources become typed records: followed, translated, and told to the solver. A new kind takes a struct to decode
to, a function that makes a record of it, and an entry in ``custom_resources``.
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
    """Desired values by key. The difference to what was last sent is taken, once: any order and any repetition of the
    changes that led to it leaves the same.

    Values are kept and compared, never changed: put another object for another value.
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
        """Whether something may have changed since the last call."""
        return bool(self._changed)

    def get(self, key: K) -> V | None:
        """Return what the solver is to know under a key, or None."""
        return self._desired.get(key)

    def put(self, key: K, value: V) -> None:
        """Have the solver know this; nothing changes if it is to know an equal value already."""
        if key not in self._desired or self._desired[key] != value:
            self._desired[key] = value
            self._changed[key] = None

    def drop(self, key: K) -> None:
        """Have the solver know nothing under a key any more."""
        if key in self._desired:
            del self._desired[key]
            self._changed[key] = None

    def begin_stream(self) -> None:
        """Begin a stream, whose solver knows nothing yet."""
        self._sent.clear()
        self._changed = dict.fromkeys(self._desired)

    def take_gone(self) -> list[K]:
        """Return the keys that have been sent and are gone, once."""
        gone = [key for key in self._changed if key not in self._desired]
        for key in gone:
            del self._changed[key]
        return [key for key in gone if self._sent.pop(key, None) is not None]

    def take_changed(self) -> list[tuple[K, V]]:
        """Return what is new to the solver, or other than what it was sent last, once."""
        changed = [(key, self._desired[key]) for key in self._changed if key in self._desired]
        self._changed = {key: None for key in self._changed if key not in self._desired}
        news = [(key, value) for key, value in changed if key not in self._sent or self._sent[key] != value]
        self._sent.update(news)
        return news


class NameIndex:
    """Names of objects by uid. The late end of an object does not end its namesake, which has another uid."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}

    def put(self, uid: str, name: str) -> None:
        """Note that this object has the name now, whichever had it before."""
        self._names[uid] = name
        self._uids[name] = uid

    def remove(self, uid: str) -> str:
        """Forget an object. Returns its name, or "" when it was unknown or a namesake has taken its place."""
        name = self._names.pop(uid, "")
        if self._uids.get(name) != uid:
            return ""
        del self._uids[name]
        return name


class Reading(NamedTuple):
    """A record out of an object: its name and payload, and what is wrong with the object."""

    name: str
    payload: bytes
    defects: tuple[Defect, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomResource(Generic[T]):
    """What becomes records of one kind. ``resources``: the API versions of the objects, the preferred one first."""

    kind: str
    resources: tuple[Resource[T], ...]
    read: Callable[[T], Reading]


class CustomRecords:
    """Records by kind and name, with the changes that the current stream has not been told yet.

    An object that is served in several versions gives one record, that of the preferred version that is followed. An
    object that replaces another one of the same name has another uid.
    """

    def __init__(self) -> None:
        self._payloads: dict[_Key, dict[int, tuple[str, bytes]]] = {}
        self._key_of: dict[tuple[str, int, str], _Key] = {}
        self._outbox: Outbox[_Key, bytes] = Outbox()
        self._complaints: dict[_Key, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._payloads)

    def taker(self, custom: CustomResource[T], version: int) -> Callable[[Sequence[Change[T]]], None]:
        """Return what takes the changes of ``custom.resources[version]``."""

        def take_changes(changes: Sequence[Change[T]]) -> None:
            for change in changes:
                if change.object is None:
                    self._remove(custom.kind, version, change.uid)
                else:
                    self._put(custom, version, change.uid, change.object)

        return take_changes

    def tell(self, kind: str, name: str, payload: bytes | None) -> None:
        """Take a record that is made elsewhere, None if it is gone."""
        key = (kind, name)
        if payload is None:
            self._payloads.pop(key, None)
        else:
            self._payloads[key] = {0: ("", payload)}
        self._settle(key)

    def _put(self, custom: CustomResource[T], version: int, uid: str, found: T) -> None:
        reading = custom.read(found)
        if not reading.name:
            return
        key = (custom.kind, reading.name)
        if self._key_of.get((custom.kind, version, uid), key) != key:
            self._remove(custom.kind, version, uid)
        self._key_of[custom.kind, version, uid] = key
        self._payloads.setdefault(key, {})[version] = (uid, reading.payload)
        self._settle(key)
        self._complain(key, reading.defects)

    def _remove(self, kind: str, version: int, uid: str) -> None:
        key = self._key_of.pop((kind, version, uid), None)
        versions = self._payloads.get(key) if key is not None else None
        if key is None or versions is None or versions.get(version, ("", b""))[0] != uid:
            return
        del versions[version]
        if not versions:
            del self._payloads[key]
            self._complaints.pop(key, None)
        self._settle(key)

    def _settle(self, key: _Key) -> None:
        """Have the solver know the payload of the preferred version."""
        versions = self._payloads.get(key)
        if versions is None:
            self._outbox.drop(key)
        else:
            self._outbox.put(key, versions[min(versions)][1])

    def _complain(self, key: _Key, defects: Sequence[Defect]) -> None:
        """Log what is wrong with an object, each defect once as long as it lasts."""
        found = tuple(str(defect) for defect in defects)
        for text in found:
            if text not in self._complaints.get(key, ()):
                _log.warning('object has a defect kind=%s name=%s defect="%s"', *key, text)
        self._complaints[key] = found

    def complaints(self, kind: str) -> dict[str, tuple[str, ...]]:
        """Return what is wrong with the objects of a kind, by their records' names."""
        return {name: found for (of_kind, name), found in self._complaints.items() if of_kind == kind}

    def forget_told(self) -> None:
        """Begin a stream: its solver knows no record."""
        self._outbox.begin_stream()

    @property
    def changed(self) -> bool:
        """Whether there may be events to take."""
        return self._outbox.changed

    def take_events(self) -> list[pb.Event]:
        """Return the records that are new to the solver, have changed, or are gone, once."""
        gone = [pb.Event(record_removed=_address(key)) for key in self._outbox.take_gone()]
        changed = self._outbox.take_changed()
        return [
            *gone,
            *(pb.Event(record=pb.Record(key=_address(key), payload=each)) for key, each in changed),
        ]


def _address(key: _Key) -> pb.RecordKey:
    return pb.RecordKey(kind=key[0], name=key[1])
