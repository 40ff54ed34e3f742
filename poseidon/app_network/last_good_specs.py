"""Keeps the last spec without defects of each object, which stays in force while the present spec has defects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from poseidon.app_network.spec.keys import ObjectKey
from poseidon.kube.api.other_projects.app_network import AppGroup, NetworkTopology
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.strict_json import JsonError, compact, loads

LAST_GOOD = "network.firmament.io/last-good-spec"
"""The annotation with the last spec without defects, which the next bridge uses; only while the spec has defects."""

_LARGEST_ANNOTATION = 100_000

S = TypeVar("S")
K = TypeVar("K", "AppGroup", "NetworkTopology")


@dataclass(slots=True)
class Kept(Generic[K, S]):
    """An object and its last valid spec, as read (``spec``) and as JSON (``written``); None if no spec was valid."""

    key: ObjectKey
    object: K
    defects: tuple[Defect, ...] = ()
    spec: S | None = None
    written: Any = None
    sent: set[str] = field(default_factory=set)
    """The messages that have been sent as events."""

    @property
    def uid(self) -> str:
        """The object's uid, which differs from those of other objects of the same name."""
        return self.object.metadata.uid

    @property
    def status(self) -> dict[str, Any]:
        """The object's status as written, {} for none."""
        found = self.object.status
        return found if isinstance(found, dict) else {}

    def annotation(self) -> str | None:
        """Return the value of the annotation ``LAST_GOOD``, None for no annotation."""
        if not self.defects or self.written is None:
            return None
        text = compact(self.written).decode()
        return text if len(text) <= _LARGEST_ANNOTATION else None


class GoodStates(Generic[K, S]):
    """The last valid spec of each object of one ``kind``; ``read`` returns the content of a spec, and its defects."""

    def __init__(self, kind: str, read: Callable[[Any], tuple[S, tuple[Defect, ...]]]) -> None:
        self._kind = kind
        self._read = read
        self._kept: dict[ObjectKey, Kept[K, S]] = {}
        self._keys: dict[str, ObjectKey] = {}
        self._alike: dict[str, dict[ObjectKey, None]] = {}

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._kept)

    def get(self, key: ObjectKey) -> Kept[K, S] | None:
        """Return an object with its last valid spec, None if no object has this name."""
        return self._kept.get(key)

    def get_last_good(self, key: ObjectKey) -> S | None:
        """Return the last valid spec of an object, None if no spec was valid."""
        kept = self._kept.get(key)
        return kept.spec if kept is not None else None

    def list_named(self, name: str) -> Iterable[ObjectKey]:
        """Return the keys of the objects of this name in all namespaces."""
        return self._alike.get(name, ())

    def put(self, found: K) -> ObjectKey:
        """Add or update an object; return its key."""
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
        """Remove the object with this uid; return its key, None if the object is unknown."""
        key = self._keys.pop(uid, None)
        if key is not None:
            del self._kept[key]
            del self._alike[key.name][key]
            if not self._alike[key.name]:
                del self._alike[key.name]
        return key

    def _recall(self, kept: Kept[K, S]) -> None:
        """Restore the last valid spec from the annotation that an earlier bridge has written."""
        text = kept.object.metadata.annotations.get(LAST_GOOD, "")
        try:
            written = loads(text) if text else None
        except JsonError:
            return
        if written is not None:
            spec, defects = self._read(written)
            if not defects:
                kept.spec, kept.written = spec, written
