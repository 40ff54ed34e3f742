"""Lists the projects whose shared GPUs are supported, with the functions that read and write their annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from poseidon.devices.sharing import hami
from poseidon.devices.sharing.koordinator import hints, results
from poseidon.devices.sharing.koordinator import requests as koordinator
from poseidon.devices.sharing.koordinator.inventory import describe_node
from poseidon.devices.sharing.node_devices import NodeDevices
from poseidon.kube.api.devices import Json
from poseidon.kube.api.pods import Pod


class SharingSystem(NamedTuple):
    """A project that shares GPUs: names, and functions that read its devices and requests and write its results."""

    name: str
    """The project's name in the configuration."""
    driver: str
    """Name of the driver, of the device class, and of each pod's claim for the project's devices."""
    selector: str
    """The CEL expression of the device class."""
    resources: frozenset[str]
    """Resources that pods state as requests or limits, and that nodes need not have."""
    inventory: str
    """The annotation of nodes that lists their devices, "" if separate objects do."""
    allocated: str
    """The annotation that states which devices a pod has."""
    written: tuple[str, ...]
    """All annotations that are written on a pod with devices, and removed when it releases them."""
    sums: bool
    """Whether requests of all containers are summed; otherwise each container has devices of its own."""
    in_turn: bool
    """Whether the pods of a node are annotated and bound one after another."""
    read_devices: Callable[[str, str], NodeDevices]
    """Reads a node's devices from its name and the text that lists them; raises ``ValueError`` or others."""
    asks: Callable[[Pod], bool]
    """Returns whether a pod requests devices."""
    describe_claim: Callable[[Pod, Sequence[int]], Json]
    """Returns the spec of the claim for a pod's requests, given all sizes of GPUs; raises ``ValueError``."""
    read_allocation: Callable[[Pod, str, str], Json]
    """Returns the allocation by the annotation of a pod, with its uid, on a node; raises ``ValueError``."""
    annotate: Callable[[Json, int, float], dict[str, str]]
    """Returns the annotations for an allocation, the number of the pod's containers and the time."""


_HAMI = SharingSystem(
    name="hami",
    driver=hami.DRIVER,
    selector=hami.SELECTOR,
    resources=hami.RESOURCES,
    inventory=hami.INVENTORY,
    allocated=hami.ALLOCATED,
    written=(hami.ALLOCATED, hami.TO_ALLOCATE, hami.NODE, hami.BIND_TIME, hami.BIND_PHASE),
    sums=False,
    in_turn=True,
    read_devices=hami.read_devices,
    asks=hami.asks,
    describe_claim=hami.describe_claim,
    read_allocation=hami.read_allocation,
    annotate=hami.annotate,
)
_KOORDINATOR = SharingSystem(
    name="koordinator",
    driver=koordinator.DRIVER,
    selector=koordinator.SELECTOR,
    resources=koordinator.RESOURCES,
    inventory="",
    allocated=results.ALLOCATED,
    written=(results.ALLOCATED,),
    sums=True,
    in_turn=False,
    read_devices=describe_node,
    asks=koordinator.asks,
    describe_claim=koordinator.describe_claim,
    read_allocation=results.read_allocation,
    annotate=results.annotate,
)
SYSTEMS = {each.name: each for each in (_HAMI, _KOORDINATOR)}
"""All projects, by name in the configuration."""
ALLOCATED = tuple(each.allocated for each in SYSTEMS.values())
"""The annotations that state which devices pods have."""
ANNOTATIONS = (*hami.ANNOTATIONS, *hints.ANNOTATIONS, results.ALLOCATED)
"""All annotations of nodes and pods about parts of GPUs."""
