"""The last good spec of each object: what counts while the present one has faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from poseidon.app_network.spec.keys import ObjectKey
from poseidon.kube.api.app_network import AppGroup, NetworkTopology
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.strict_json import JsonError, compact, loads

LAST_GOOD = "network.firmament.io/last-good-spec"
"""Annotation, only on objects whose spec has faults: the spec that is in force, for a bridge that starts later."""

_LARGEST_ANNOTATION = 100_000

S = TypeVar("S")
K = TypeVar("K", "AppGroup", "NetworkTopology")


@dataclass(slots=True)
class Kept(Generic[K, S]):
    """An object as it is now, and of its specs the last good one (None: there was none), read and as written."""

    key: ObjectKey
    object: K
    defects: tuple[Defect, ...] = ()
    spec: S | None = None
    written: Any = None
    told: set[str] = field(default_factory=set)
    """Messages that people have been told as events."""

    @property
    def uid(self) -> str:
        """The object's uid, which tells it from a namesake."""
        return self.object.metadata.uid

    @property
    def status(self) -> dict[str, Any]:
        """Its status as written, {} for none."""
        found = self.object.status
        return found if isinstance(found, dict) else {}

    def annotation(self) -> str | None:
        """Return what the annotation should say, None for no annotation."""
        if not self.defects or self.written is None:
            return None
        text = compact(self.written).decode()
        return text if len(text) <= _LARGEST_ANNOTATION else None


class GoodStates(Generic[K, S]):
    """Objects of one ``kind``. ``read`` returns what a spec says, and its faults."""

    def __init__(self, kind: str, read: Callable[[Any], tuple[S, tuple[Defect, ...]]]) -> None:
        self._kind = kind
        self._read = read
        self._kept: dict[ObjectKey, Kept[K, S]] = {}
        self._keys: dict[str, ObjectKey] = {}
        self._alike: dict[str, dict[ObjectKey, None]] = {}

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._kept)

    def get(self, key: ObjectKey) -> Kept[K, S] | None:
        """Return an object, None if there is none of this name."""
        return self._kept.get(key)

    def in_force(self, key: ObjectKey) -> S | None:
        """Return the spec that counts of an object, None if none does."""
        kept = self._kept.get(key)
        return kept.spec if kept is not None else None

    def list_named(self, name: str) -> Iterable[ObjectKey]:
        """Return the objects of this name, of all namespaces."""
        return self._alike.get(name, ())

    def put(self, found: K) -> ObjectKey:
        """Take an object as it is now."""
        metadata = found.metadata
        key = ObjectKey(self._kind, metadata.namespace or "default", metadata.name)
        kept = self._kept.get(key)
        if kept is None or kept.uid != metadata.uid:
            if kept is not None:
                self._keys.pop(kept.uid, None)
            kept = self._kept[key] = Kept(key, found)
            self._keys[metadata.uid] = key
            self._alike.setdefault(key.name, {})[key] = None
            self._recall(kept)
        kept.object = found
        spec, kept.defects = self._read(found.spec)
        if not kept.defects:
            kept.spec, kept.written = spec, found.spec
        return key

    def remove(self, uid: str) -> ObjectKey | None:
        """Forget the object with this uid; returns its key, None if it was not known."""
        key = self._keys.pop(uid, None)
        if key is not None:
            del self._kept[key]
            del self._alike[key.name][key]
            if not self._alike[key.name]:
                del self._alike[key.name]
        return key

    def _recall(self, kept: Kept[K, S]) -> None:
        """Take up the good spec that a former process has left."""
        text = kept.object.metadata.annotations.get(LAST_GOOD, "")
        try:
            written = loads(text) if text else None
        except JsonError:
            return
        if written is not None:
            spec, defects = self._read(written)
            if not defects:
                kept.spec, kept.written = spec, written
