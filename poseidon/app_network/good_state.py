"""The last good spec of each object: what counts while the present one has faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from poseidon.app_network.spec.ordering import compact
from poseidon.kube.parsing.strict_json import JsonError, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.kube.api.app_network import AppGroup, NetworkTopology
    from poseidon.kube.parsing.defects import Defect

LAST_GOOD = "network.firmament.io/last-good-spec"
"""Annotation, only on objects whose spec has faults: the spec that is in force, for whoever is started later."""

_LARGEST_ANNOTATION = 100_000

S = TypeVar("S")
K = TypeVar("K", "AppGroup", "NetworkTopology")

ObjectName = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class Kept(Generic[K, S]):
    """An object as it is now, and of its specs the last good one (None: there was none), read and as written."""

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
    """Objects of one kind by namespace and name. ``read`` returns what a spec says, and its faults."""

    def __init__(self, read: Callable[[Any], tuple[S, tuple[Defect, ...]]]) -> None:
        self._read = read
        self._kept: dict[ObjectName, Kept[K, S]] = {}
        self._names: dict[str, ObjectName] = {}
        self._alike: dict[str, dict[ObjectName, None]] = {}

    def __iter__(self) -> Iterator[ObjectName]:
        return iter(self._kept)

    def get(self, name: ObjectName) -> Kept[K, S] | None:
        """Return an object, None if there is none of this name."""
        return self._kept.get(name)

    def named(self, name: str) -> Iterable[ObjectName]:
        """Return the objects of this name, of all namespaces."""
        return self._alike.get(name, ())

    def put(self, found: K) -> ObjectName:
        """Take an object as it is now."""
        metadata = found.metadata
        name = (metadata.namespace or "default", metadata.name)
        kept = self._kept.get(name)
        if kept is None or kept.uid != metadata.uid:
            if kept is not None:
                self._names.pop(kept.uid, None)
            kept = self._kept[name] = Kept(found)
            self._names[metadata.uid] = name
            self._alike.setdefault(name[1], {})[name] = None
            self._recall(kept)
        kept.object = found
        spec, kept.defects = self._read(found.spec)
        if not kept.defects:
            kept.spec, kept.written = spec, found.spec
        return name

    def remove(self, uid: str) -> ObjectName | None:
        """Forget the object with this uid; returns its name, None if it was not known."""
        name = self._names.pop(uid, None)
        if name is not None:
            del self._kept[name]
            del self._alike[name[1]][name]
            if not self._alike[name[1]]:
                del self._alike[name[1]]
        return name

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
