"""Whose parts of GPUs can be read and given: one description of each project, and the table of all."""

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
    """How a project says what nodes have, what pods want, and what they have got."""

    name: str
    """In the configuration."""
    driver: str
    """The driver of its devices, their class, and what pods call the claim that stands for what they want."""
    selector: str
    """The expression of the class."""
    resources: frozenset[str]
    """What pods state as requests or limits, and nodes need not offer."""
    inventory: str
    """The annotation of nodes that lists their devices, "" if objects of their own do."""
    allocated: str
    """The annotation by which a pod has devices."""
    written: tuple[str, ...]
    """All annotations that are written on a pod with devices, and removed when it gives them back."""
    sums: bool
    """Whether a pod's init containers count; else each container has devices of its own, and these have none."""
    in_turn: bool
    """Whether on a node one pod is annotated and bound after another."""
    read_devices: Callable[[str, str], NodeDevices]
    """From a node's name and the text that lists its devices; raises ``ValueError``, ``KeyError``, ``TypeError``."""
    asks: Callable[[Pod], bool]
    """Whether a pod asks for devices."""
    describe_claim: Callable[[Pod, Sequence[int]], Json]
    """The spec of the claim that a pod's requests amount to, given all sizes of GPUs; raises ``ValueError``."""
    read_allocation: Callable[[Pod, str, str], Json]
    """What the annotation says that a pod (its uid) has got on a node; raises ``ValueError``."""
    annotate: Callable[[Json, int, float], dict[str, str]]
    """The annotations for an allocation, the number of the pod's containers and the time."""


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
"""All projects, by the name that the configuration has for them."""
ALLOCATED = tuple(each.allocated for each in SYSTEMS.values())
"""The annotations by which pods have devices."""
ANNOTATIONS = (*hami.ANNOTATIONS, *hints.ANNOTATIONS, results.ALLOCATED)
"""All annotations of nodes and pods that say something about parts of GPUs."""
