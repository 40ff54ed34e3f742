"""Defines a collection of the API: its path, the struct of its objects, and how changes of them are passed on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta

T = TypeVar("T", bound=KubeStruct)


class Change(NamedTuple, Generic[T]):
    """A change of an object: its present state, or None if it has been deleted.

    ``uid`` distinguishes it from other objects of the same name.
    """

    uid: str
    object: T | None


class Outline(Protocol):
    """The part of an object that placement reads, decoded in a fraction of the time.

    Heartbeats of nodes, for example, change nothing in it and are skipped.
    """

    @property
    def metadata(self) -> ObjectMeta:
        """Name, uid and version of the object."""

    @property
    def mark(self) -> int:
        """A number that changes whenever a part changes that placement reads."""


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A collection of the API."""

    name: str
    """The collection's name in logs and metrics."""
    path: str
    """Path of the collection over all namespaces."""
    kind: type[T]
    """The struct to which the objects of this resource are decoded."""
    field_selector: str = ""
    """Selects some of the objects by fields, "" for all."""
    label_selector: str = ""
    """Selects some of the objects by labels, "" for all."""
    other_paths: tuple[str, ...] = ()
    """Paths of the same objects in other versions, for servers that do not serve ``path``."""
    required: bool = False
    """Whether the bridge cannot run without reading this resource.

    If this field is False, answer 403 counts as "not served".
    """
    outline: type[Outline] | None = None
    """A partial decoding that shows whether an object's change matters; None: objects are decoded at once."""

    def versions(self) -> tuple[Resource[T], ...]:
        """Return this collection once for each path at which a server may serve it, with the preferred path first."""
        return (self, *(replace(self, path=path, other_paths=()) for path in self.other_paths))

    def narrow_to(self, namespace: str) -> Resource[T]:
        """Return the collection of those objects that are in one namespace."""

        def shorten(path: str) -> str:
            version, _, plural = path.rpartition("/")
            return f"{version}/namespaces/{namespace}/{plural}"

        return replace(self, path=shorten(self.path), other_paths=tuple(map(shorten, self.other_paths)))

    def query(self, **more: str) -> dict[str, str]:
        """Return the parameters of a request for the objects: the selectors, and ``more``."""
        chosen = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        return {**{key: value for key, value in chosen.items() if value}, **more}
