"""Reads Koordinator's Device objects: the devices of a node become slices, one for each type of devices.

Names of devices and attributes follow ``scheduling.koordinator.sh/v1alpha1``. The memory of a GPU is both a capacity
in bytes and a capacity in percent, as Koordinator counts both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from poseidon.devices.sharing.node_devices import NodeDevices, build_slice
from poseidon.kube.api.devices import Json
from poseidon.kube.parsing import strict_json
from poseidon.kube.parsing.quantities import amount

DOMAIN = "koordinator.sh"
GPU, RDMA, FPGA = "gpu", "rdma", "fpga"
TYPES = (GPU, RDMA, FPGA)
CORES, MEMORY, RATIO = (f"{DOMAIN}/gpu-core", f"{DOMAIN}/gpu-memory", f"{DOMAIN}/gpu-memory-ratio")
CAPACITIES: Mapping[str, Mapping[str, str]] = {
    GPU: {"cores": CORES, "memory": MEMORY, "ratio": RATIO},
    RDMA: {"share": f"{DOMAIN}/rdma"},
    FPGA: {"share": f"{DOMAIN}/fpga"},
}
"""By type of devices: this project's names of capacities, and Koordinator's names of resources."""
PCIE, NUMA = f"{DOMAIN}/pcie", f"{DOMAIN}/numa"
"""Attributes that say which devices are near each other: those with equal values."""
_Found: TypeAlias = Mapping[str, Any]


def name_driver(kind: str) -> str:
    """Return the name of the driver that stands for a type of devices."""
    return f"{kind}.{DOMAIN}"


def name_device(kind: str, minor: int, name: str) -> str:
    """Return the name of a device; ``name``: its id, which annotations state only for RDMA devices."""
    return f"{minor}/{name}" if kind == RDMA and name else str(minor)


def describe_node(node: str, text: str) -> NodeDevices:
    """Read a node's healthy devices from ``text``, the JSON of the ``spec`` of the node's Device object (Koordinator).

    Raises ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError`` if the text is malformed.
    """
    found: dict[str, dict[str, Json]] = {kind: {} for kind in TYPES}
    sizes = []
    for each in strict_json.loads(text).get("devices") or () if text else ():
        kind = each.get("type")
        if kind not in found or not each.get("health"):
            continue
        device = _describe_device(kind, each)
        if device["name"] in found[kind]:
            raise ValueError(f"two devices of type {kind} have the minor {each.get('minor', 0)}")
        found[kind][device["name"]] = device
        if kind == GPU:
            sizes.append(int(device["attributes"][f"{DOMAIN}/memory"]["int"]))
    slices = tuple(
        build_slice(name_driver(kind), node, list(each.values())) for kind, each in found.items() if each
    )
    return NodeDevices(slices, tuple(sizes))


def _describe_device(kind: str, given: _Found) -> Json:
    has = {
        own: amount("memory", (given.get("resources") or {}).get(resource, "0"))
        for own, resource in CAPACITIES[kind].items()
    }
    labels = given.get("labels") or {}
    attributes: Json = {
        "type": {"string": kind},
        "labels": {"strings": [*labels, *(f"{key}={value}" for key, value in labels.items())]},
        **_describe_place(given.get("topology") or {}),
        **({"memory": {"int": has["memory"]}} if kind == GPU else {}),
    }
    return {
        "name": name_device(kind, int(given.get("minor") or 0), str(given.get("id") or "")),
        "allowMultipleAllocations": True,
        "attributes": {f"{DOMAIN}/{name}": value for name, value in attributes.items()},
        "capacity": {name: {"value": str(value)} for name, value in has.items()},
    }


def _describe_place(topology: _Found) -> Json:
    found: Json = {}
    if topology.get("pcieID"):
        found["pcie"] = {"string": str(topology["pcieID"])}
    if int(topology.get("nodeID", -1)) >= 0:
        found["numa"] = {"int": int(topology["nodeID"])}
    return found
