"""Keeps the images on nodes, and finds which are large and common enough to affect scores.

kube-scheduler's ImageLocality multiplies the size of an image by the share of nodes that have it, and sums this over a
pod's containers; below 23 MiB it scores nothing. In a large cluster hardly any image reaches that. If the solver got
all images, every application would be a class of its own, and images would be the largest part of each node's
description.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from protos.firmament.v1 import scheduler_pb2 as pb

_Key: TypeAlias = tuple[tuple[str, ...], int]

LEAST_SUM = 23 * 2**20
"""Bytes below which the images of a pod score nothing (kube-scheduler's ImageLocality)."""

MOST_CONTAINERS = 64
"""Largest number of containers of a pod (a power of two) for which images are summed."""


@dataclass(slots=True, eq=False)
class _Held:
    """An image as some nodes report it; nodes that report the same share one object."""

    names: tuple[str, ...]
    size: int
    holders: int = 0
    heavy: bool = False


class NodeImages:
    """Images by node, and the names that pods have used so far.

    A name is *heavy* once its image could affect scores of pods with some number of containers; it stays heavy as long
    as pods use it.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[_Held, ...]] = {}
        self._held: dict[_Key, _Held] = {}
        self._by_name: dict[str, set[_Held]] = {}
        self._wanted: set[str] = set()
        self._containers: dict[str, int] = {}
        self._stale: set[str] = set()
        self._counted_nodes = 0

    def put(self, node: str, images: Iterable[pb.Image]) -> None:
        """Replace the images of a node."""
        before = self._nodes.get(node, ())
        after = tuple([self._intern(tuple(each.names), each.size) for each in images])
        self._nodes[node] = after
        if after != before:
            self._count(after, 1)
            self._count(before, -1)

    def forget(self, node: str) -> None:
        """Remove a node that has been deleted."""
        self._count(self._nodes.pop(node, ()), -1)

    def want(self, names: Iterable[str]) -> None:
        """Record that pods name these images."""
        new = set(names) - self._wanted
        self._wanted |= new
        self._stale |= new

    def want_only(self, names: Collection[str]) -> None:
        """Record that pods name only these images from now on."""
        self._wanted &= set(names)
        self._stale &= self._wanted
        self._containers = {name: least for name, least in self._containers.items() if name in self._wanted}

    @property
    def changed(self) -> bool:
        """Whether ``take_heavy`` may return any change."""
        return bool(self._stale) or len(self._nodes) != self._counted_nodes

    def take_heavy(self) -> tuple[Mapping[str, int], list[str]]:
        """Return the image names that have become heavier since the last call, and the nodes to describe again.

        For each name, the number is the fewest containers (a power of two) of a pod whose score the image can affect.
        """
        heavier: dict[str, int] = {}
        found: set[_Held] = set()
        for name in self._to_weigh():
            held = self._by_name.get(name, ())
            least = self._fewest_containers(held)
            if least < self._containers.get(name, MOST_CONTAINERS + 1):
                self._containers[name] = heavier[name] = least
                found.update(image for image in held if not image.heavy)
        for image in found:
            image.heavy = True
        nodes = (
            [node for node, images in self._nodes.items() if not found.isdisjoint(images)] if found else []
        )
        return heavier, nodes

    def list_heavy_images(self, node: str) -> list[pb.Image]:
        """Return the *heavy* images on a node: those that are large and common enough to matter for scores."""
        return [pb.Image(names=each.names, size=each.size) for each in self._nodes[node] if each.heavy]

    def _to_weigh(self) -> set[str]:
        if len(self._nodes) != self._counted_nodes:
            self._counted_nodes = len(self._nodes)
            self._stale = self._wanted & self._by_name.keys()
        stale, self._stale = self._stale, set()
        return stale

    def _fewest_containers(self, held: Iterable[_Held]) -> int:
        """Return how many containers with images of this weight a pod needs before images count for its score."""
        weight = max((each.size for each in held), default=0) * sum(each.holders for each in held)
        if not weight:
            return MOST_CONTAINERS + 1
        needed = -(-LEAST_SUM * len(self._nodes) // weight)
        return 1 << (needed.bit_length() - 1)

    def _intern(self, names: tuple[str, ...], size: int) -> _Held:
        image = self._held.get((names, size))
        if image is None:
            image = self._held[names, size] = _Held(names, size)
        return image

    def _count(self, images: tuple[_Held, ...], change: int) -> None:
        for image in images:
            image.holders += change
            if not image.holders:
                self._drop(image)
            elif image.holders == change:
                self._file(image)
            self._stale.update(name for name in image.names if name in self._wanted)

    def _file(self, image: _Held) -> None:
        image.heavy = not self._containers.keys().isdisjoint(image.names)
        for name in image.names:
            self._by_name.setdefault(name, set()).add(image)

    def _drop(self, image: _Held) -> None:
        del self._held[image.names, image.size]
        for name in image.names:
            self._by_name[name].discard(image)
            if not self._by_name[name]:
                del self._by_name[name]
