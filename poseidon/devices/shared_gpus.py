"""Represents nodes and pods that share GPUs as slices and claims, and binds such pods one after another on a node.

HAMi's device plugin does not know for which pod a kubelet asks, and assumes the pod that has waited longest. The next
pod of a node is therefore bound only after the plugin has reported that the pod before has its GPUs, or after the
lifetime of HAMi's own lock.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from poseidon.custom_records import CustomRecords, NameIndex
from poseidon.devices.claims import PodDeviceClaim, write_json
from poseidon.devices.records import CLASS_RECORD, SLICE_RECORD
from poseidon.devices.sharing.hami import ALLOCATING, BIND_PHASE, BIND_TIME, NODE
from poseidon.devices.sharing.node_devices import NodeDevices
from poseidon.devices.sharing.systems import SharingSystem
from poseidon.devices.sharing.virtual_claims import CONTAINERS, name_claim
from poseidon.devices.state import DeviceState
from poseidon.kube.api.devices import (
    ClaimConsumer,
    ClaimMeta,
    Json,
    NodeDeviceList,
    ResourceClaim,
    ResourceClaimStatus,
)
from poseidon.kube.api.metadata import OwnerReference, Resources
from poseidon.kube.api.pods import Container, Pod
from poseidon.kube.api.resource import Change

_log = logging.getLogger(__name__)

TURN_SECONDS = 300.0
"""Longest time in seconds for which a pod keeps its turn to be bound: the lifetime of HAMi's lock of a node."""


@dataclass(slots=True)
class SharedGpus:
    """A translation of one project's shared GPUs: nodes' devices into slices, pods' requests into claims.

    If the project's device plugin needs it, pods are bound to a node one after another, each in its *turn*.
    """

    system: SharingSystem
    """The project whose annotations are read and written."""
    records: CustomRecords
    """Receives slices and device classes, which the solver gets before tasks."""
    devices: DeviceState
    """Receives the claims that stand for annotations of pods."""
    wall: Callable[[], float]
    """Seconds since the epoch."""
    _inventory: dict[str, str] = field(default_factory=dict)
    """By node: the annotation, or JSON of the object, that lists its devices."""
    _slices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By node: names of the slices that the solver has."""
    _objects: NameIndex = field(default_factory=NameIndex)
    """By uid of an object that lists a node's devices: name of the node."""
    _memories: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By node: the memory of each of its GPUs, in the project's unit."""
    _sizes: Counter[int] = field(default_factory=Counter)
    """By amount of memory: how many GPUs of all nodes have it."""
    _pods: dict[str, Pod] = field(default_factory=dict)
    """The pods that request GPUs, by uid."""
    _turns: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By node: the claim of the pod that is being bound now, and since when (seconds since the epoch)."""

    def __post_init__(self) -> None:
        own = [{"cel": {"expression": self.system.selector}}]
        self.records.set_record(CLASS_RECORD, self.system.driver, write_json({"selectors": own}).encode())
        if self.system.in_turn:
            self.devices.holds_back = self.holds_back

    @property
    def reads_objects(self) -> bool:
        """Whether separate objects, not nodes' annotations, list the devices of nodes."""
        return not self.system.inventory

    # --- nodes ---------------------------------------------------------------------------------------------

    def put_node(self, name: str, annotations: Mapping[str, str]) -> None:
        """Add or update a node."""
        if key := self.system.inventory:
            self._put_devices(name, annotations.get(key, ""))

    def take_objects(self, changes: Sequence[Change[NodeDeviceList]]) -> None:
        """Update objects that list the devices of the node of the same name."""
        for change in changes:
            if change.object is not None:
                name = change.object.metadata.name
                self._objects.put(change.uid, name)
                self._put_devices(name, write_json(change.object.spec))
            elif name := self._objects.remove(change.uid):
                self._put_devices(name, "")

    def _put_devices(self, name: str, text: str) -> None:
        if self._inventory.get(name, "") == text:
            return
        self._inventory[name] = text
        try:
            found = self.system.read_devices(name, text)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            _log.warning('devices cannot be read node=%s defect="%s"', name, error)
            found = NodeDevices()
        slices = {f"{each['driver']}/{name}": write_json(each).encode() for each in found.slices}
        for key in self._slices.pop(name, ()):
            if key not in slices:
                self.records.set_record(SLICE_RECORD, key, None)
        for key, payload in slices.items():
            self.records.set_record(SLICE_RECORD, key, payload)
        self._slices[name] = tuple(slices)
        former, now = self._memories.get(name, ()), found.sizes
        self._memories[name] = now
        before = self._sizes.keys()
        self._sizes = self._sizes + Counter(now) - Counter(former)
        if self._sizes.keys() != before:
            for uid, pod in self._pods.items():
                with suppress(ValueError):  # The pod's message already says what is wrong.
                    self._pass_claim_on(uid, pod)

    def forget_node(self, name: str) -> None:
        """Remove a node that has been deleted."""
        if self.system.inventory:
            self._put_devices(name, "")
            self._inventory.pop(name, None)
            self._memories.pop(name, None)
        self._turns.pop(name, None)

    # --- pods ----------------------------------------------------------------------------------------------

    def put_pod(self, uid: str, pod: Pod) -> tuple[PodDeviceClaim, ...]:
        """Add or update a pod; return a tuple with the claim made for the pod's devices, () if it requests none."""
        if not self.system.asks(pod):
            return ()
        self._pods[uid] = pod
        key, problem = self._name_claim(pod), ""
        try:
            self._pass_claim_on(uid, pod)
        except ValueError as error:
            problem = str(error)
        if self.system.in_turn:
            self._note_turn(key, pod)
        return (PodDeviceClaim(self.system.driver, key, made=True, problem=problem),)

    def release_gpus(self, uid: str) -> None:
        """Remove a pod that was deleted or has finished, so that other pods may have its GPUs."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self.devices.claims_changed([Change(name_claim(uid, self.system.name), None)])
            self.end_turn(self._name_claim(pod))

    def _name_claim(self, pod: Pod) -> str:
        return f"{pod.metadata.namespace or 'default'}/{name_claim(pod.metadata.name, self.system.name)}"

    def _pass_claim_on(self, uid: str, pod: Pod) -> None:
        claim = self._describe(uid, pod)
        self.devices.claims_changed([Change(claim.metadata.uid, claim)])

    def _describe(self, uid: str, pod: Pod) -> ResourceClaim:
        metadata = pod.metadata
        owner = OwnerReference("v1", "Pod", metadata.name, uid, controller=True)
        return ResourceClaim(
            metadata=ClaimMeta(
                name=name_claim(metadata.name, self.system.name),
                namespace=metadata.namespace or "default",
                uid=name_claim(uid, self.system.name),
                resource_version=metadata.resource_version,
                annotations={CONTAINERS: str(len(pod.spec.containers))},
                owner_references=(owner,),
            ),
            spec=self.system.describe_claim(pod, sorted(self._sizes)),
            status=self._describe_status(uid, pod),
        )

    def _describe_status(self, uid: str, pod: Pod) -> ResourceClaimStatus:
        annotations = pod.metadata.annotations
        node = pod.spec.node_name or annotations.get(NODE, "")
        key = self.system.allocated
        if not annotations.get(key) or not node:
            return ResourceClaimStatus()
        try:
            allocation = self.system.read_allocation(pod, uid, node)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning('devices of a pod cannot be read pod=%s defect="%s"', pod.metadata.name, error)
            return ResourceClaimStatus()
        reserved = ClaimConsumer(resource="pods", name=pod.metadata.name, uid=uid)
        return ResourceClaimStatus(allocation, (reserved,))

    # --- turns of pods on a node ---------------------------------------------------------------------------

    def holds_back(self, key: str, allocation: Json) -> bool:
        """Return whether a claim that stands for annotations must wait for another pod's claim.

        If the claim need not wait, its turn begins.
        """
        if not key.endswith(name_claim("", self.system.name)):
            return False
        node = str(allocation["devices"]["results"][0]["pool"])
        holder, since = self._turns.get(node, ("", 0.0))
        if holder not in ("", key) and self.wall() - since < TURN_SECONDS:
            return True
        self._turns[node] = key, self.wall()
        return False

    def end_turn(self, key: str) -> None:
        """End the turn of a claim whose pod does not wait for the device plugin any more."""
        ended = [node for node, (holder, _) in self._turns.items() if holder == key]
        for node in ended:
            del self._turns[node]
        if ended:
            self.devices.try_blocked()

    def _note_turn(self, key: str, pod: Pod) -> None:
        annotations = pod.metadata.annotations
        phase, node = annotations.get(BIND_PHASE, ""), pod.spec.node_name
        if phase == ALLOCATING and node:
            began = annotations.get(BIND_TIME, "")
            since = float(began) if began.isdecimal() else self.wall()
            self._turns.setdefault(node, (key, since))
        elif phase and phase != ALLOCATING:
            self.end_turn(key)


def without_devices(pod: Pod, system: SharingSystem) -> Pod:
    """Return a pod without the requests that ``system`` translates into a claim of devices."""
    if not system.asks(pod):
        return pod
    spec = replace(pod.spec, containers=_strip(pod.spec.containers, system))
    if system.sums:
        spec = replace(spec, init_containers=_strip(spec.init_containers, system))
    return replace(pod, spec=spec)


def _strip(containers: tuple[Container, ...], system: SharingSystem) -> tuple[Container, ...]:
    return tuple(
        replace(
            each,
            resources=replace(
                each.resources,
                requests=_drop(each.resources.requests, system.resources),
                limits=_drop(each.resources.limits, system.resources),
            ),
        )
        for each in containers
    )


def _drop(stated: Resources, names: frozenset[str]) -> Resources:
    return {name: value for name, value in stated.items() if name not in names}
