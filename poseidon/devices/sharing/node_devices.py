"""Builds slices and allocations of devices that pods share, in one form for all projects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from poseidon.kube.api.devices import Json


class NodeDevices(NamedTuple):
    """The devices of a node, as slices."""

    slices: tuple[Json, ...] = ()
    """Specs of the slices, one for each driver."""
    sizes: tuple[int, ...] = ()
    """The memory of each GPU, in the unit of its project."""


def build_slice(driver: str, node: str, devices: Sequence[Json]) -> Json:
    """Return the spec of a slice with all devices of a driver on a node."""
    return {
        "driver": driver,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": list(devices),
    }


def build_allocation(node: str, results: Sequence[Json]) -> Json:
    """Return the allocation of a claim whose devices are on one node; ``results``: one entry per device."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    return {"devices": {"results": list(results)}, "nodeSelector": {"nodeSelectorTerms": terms}}
