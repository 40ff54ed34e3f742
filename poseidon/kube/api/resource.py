"""A collection of the API: where it is, what its objects decode to, and how it is told that they change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from poseidon.kube.api.metadata import KubeStruct

T = TypeVar("T", bound=KubeStruct)


class Change(NamedTuple, Generic[T]):
    """An object as it is now, or its absence (``object`` None). ``uid`` tells it from a namesake."""

    uid: str
    object: T | None


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A collection of the API.

    ``path`` is that of the collection over all namespaces, ``name`` what logs and metrics call it, ``kind``
    the struct that its objects decode to. ``field_selector`` and ``label_selector`` pick some of them, "" all.
    ``other_paths`` lead to the same objects in other versions, for servers that do not serve the first. Unless it is
    ``required``, one that may not be read (403) counts as one that is not served.
    """

    name: str
    path: str
    kind: type[T]
    field_selector: str = ""
    label_selector: str = ""
    other_paths: tuple[str, ...] = ()
    required: bool = False

    def versions(self) -> tuple[Resource[T], ...]:
        """Return it once per path, the preferred first."""
        return (self, *(replace(self, path=path, other_paths=()) for path in self.other_paths))

    def query(self, **more: str) -> dict[str, str]:
        """Return the query of a request for these objects."""
        chosen = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        return {**{key: value for key, value in chosen.items() if value}, **more}
