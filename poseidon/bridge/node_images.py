"""The images on nodes, of which the solver is told only those that some pod names.

A kubelet reports dozens of images, and most nodes hold the same: told in full, they would be the greater part of
what is said about a cluster, and change all the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from typing import TypeAlias

    _Key: TypeAlias = tuple[tuple[str, ...], int]


class _Held:
    """An image as some nodes report it; those that report the same share one object."""

    __slots__ = ("__weakref__", "names", "size", "wanted")

    def __init__(self, names: tuple[str, ...], size: int) -> None:
        self.names = names
        self.size = size
        self.wanted = False


class NodeImages:
    """Images by node, and the names that pods have given so far; these are never forgotten."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[_Held, ...]] = {}
        self._held: WeakValueDictionary[_Key, _Held] = WeakValueDictionary()
        self._wanted: set[str] = set()

    def put(self, node: str, images: Iterable[pb.Image]) -> list[pb.Image]:
        """Take what a node has now. Returns those images that some pod has named."""
        self._nodes[node] = tuple([self._interned(tuple(each.names), each.size) for each in images])
        return self.wanted_on(node)

    def forget(self, node: str) -> None:
        """A node is gone."""
        self._nodes.pop(node, None)

    def want(self, names: Iterable[str]) -> list[str]:
        """Pods name these images. Returns the nodes of which more is to be told now."""
        new = set(names) - self._wanted
        if not new:
            return []
        self._wanted |= new
        found = set()
        for image in self._held.values():
            if not image.wanted and not new.isdisjoint(image.names):
                image.wanted = True
                found.add(image)
        if not found:
            return []
        return [node for node, images in self._nodes.items() if not found.isdisjoint(images)]

    def wanted_on(self, node: str) -> list[pb.Image]:
        """Return the images on a node that some pod has named."""
        return [pb.Image(names=each.names, size=each.size) for each in self._nodes[node] if each.wanted]

    def _interned(self, names: tuple[str, ...], size: int) -> _Held:
        image = self._held.get((names, size))
        if image is None:
            image = self._held[names, size] = _Held(names, size)
            image.wanted = not self._wanted.isdisjoint(names)
        return image
