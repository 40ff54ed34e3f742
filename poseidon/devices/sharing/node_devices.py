"""What a node has of devices that pods share."""

from __future__ import annotations

from typing import NamedTuple

from poseidon.kube.api.devices import Json


class NodeDevices(NamedTuple):
    """The devices of a node, as the slices that stand for them."""

    slices: tuple[Json, ...] = ()
    """Their specs, each of another driver."""
    sizes: tuple[int, ...] = ()
    """The memory of each GPU, in the unit of its project."""
