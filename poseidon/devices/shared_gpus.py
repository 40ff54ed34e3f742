"""Nodes and pods of HAMi as slices and claims: what the solver is told of them, and whose turn it is on a node.

HAMi's device plugin is not told for which pod a kubelet asks. It takes the one that waits for it longest, so on a node
one pod is bound after another: the next one when the plugin has said of the one before that it has its GPUs, or after
as long as HAMi's own lock lasts.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from poseidon.custom_records import CustomRecords
from poseidon.devices import hami
from poseidon.devices.claims import PodDeviceClaim, write_json
from poseidon.devices.hami import ALLOCATED, BIND_PHASE, BIND_TIME, NODE
from poseidon.devices.records import CLASS_RECORD, SLICE_RECORD
from poseidon.devices.state import DeviceState
from poseidon.devices.virtual_claims import CONTAINERS, SUFFIX
from poseidon.kube.api.devices import ClaimConsumer, ClaimMeta, Json, ResourceClaim, ResourceClaimStatus
from poseidon.kube.api.metadata import OwnerReference, Resources
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change

_log = logging.getLogger(__name__)

TURN_SECONDS = 300.0
"""As long as HAMi's lock of a node."""


@dataclass(slots=True)
class SharedGpus:
    """What is known of GPUs that HAMi shares out."""

    records: CustomRecords
    """Records that the solver gets before tasks."""
    devices: DeviceState
    """Takes the claims."""
    wall: Callable[[], float]
    """Seconds since the epoch."""
    _inventory: dict[str, str] = field(default_factory=dict)
    """By node: its annotation."""
    _memories: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """By node: what its GPUs have, in MiB."""
    _sizes: Counter[int] = field(default_factory=Counter)
    """How many GPUs of all nodes have so many MiB."""
    _pods: dict[str, Pod] = field(default_factory=dict)
    """By uid: pods that ask for GPUs."""
    _turns: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By node: the claim of the pod whose turn it is, and since when."""

    def __post_init__(self) -> None:
        self.records.tell(CLASS_RECORD, hami.DRIVER, write_json(hami.CLASS_SPEC).encode())
        self.devices.holds_back = self.holds_back

    # --- nodes ---------------------------------------------------------------------------------------------

    def put_node(self, name: str, text: str) -> None:
        """Take the annotation of a node, "" if it has none."""
        if self._inventory.get(name, "") == text:
            return
        self._inventory[name] = text
        try:
            gpus = hami.read_inventory(text) if text else []
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            _log.warning('GPUs cannot be read node=%s defect="%s"', name, error)
            gpus = []
        payload = write_json(hami.describe_node(name, gpus)).encode() if gpus else None
        self.records.tell(SLICE_RECORD, f"{hami.DRIVER}/{name}", payload)
        former, now = self._memories.get(name, ()), tuple(gpu.memory for gpu in gpus)
        self._memories[name] = now
        before = self._sizes.keys()
        self._sizes = self._sizes + Counter(now) - Counter(former)
        if self._sizes.keys() != before:
            for uid, pod in self._pods.items():
                self._tell_claim(uid, pod)

    def forget_node(self, name: str) -> None:
        """Forget a node that is gone."""
        self.put_node(name, "")
        for known in (self._inventory, self._memories, self._turns):
            known.pop(name, None)

    # --- pods ----------------------------------------------------------------------------------------------

    def put_pod(self, uid: str, pod: Pod) -> tuple[PodDeviceClaim, ...]:
        """Take a pod as it is now; returns the claim that stands for its GPUs, if it asks for any."""
        if not hami.asks(pod):
            return ()
        self._pods[uid] = pod
        key = self._tell_claim(uid, pod)
        self._note_turn(key, pod)
        return (PodDeviceClaim(hami.DRIVER, key, made=True),)

    def take_back(self, uid: str) -> None:
        """Forget a pod that is gone, or has finished: its GPUs are for others."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self.devices.claims_changed([Change(f"{uid}{SUFFIX}", None)])
            self.end_turn(_name_claim(pod))

    def _tell_claim(self, uid: str, pod: Pod) -> str:
        claim = self._describe(uid, pod)
        self.devices.claims_changed([Change(claim.metadata.uid, claim)])
        return _name_claim(pod)

    def _describe(self, uid: str, pod: Pod) -> ResourceClaim:
        metadata = pod.metadata
        owner = OwnerReference("v1", "Pod", metadata.name, uid, controller=True)
        return ResourceClaim(
            metadata=ClaimMeta(
                name=f"{metadata.name}{SUFFIX}",
                namespace=metadata.namespace or "default",
                uid=f"{uid}{SUFFIX}",
                resource_version=metadata.resource_version,
                annotations={CONTAINERS: str(len(pod.spec.containers))},
                owner_references=(owner,),
            ),
            spec=hami.describe_claim(pod, sorted(self._sizes)),
            status=self._describe_status(uid, pod),
        )

    def _describe_status(self, uid: str, pod: Pod) -> ResourceClaimStatus:
        annotations = pod.metadata.annotations
        text, node = annotations.get(ALLOCATED), pod.spec.node_name or annotations.get(NODE, "")
        if not text or not node:
            return ResourceClaimStatus()
        try:
            parts = hami.read_parts(text)
        except ValueError as error:
            _log.warning('GPUs of a pod cannot be read pod=%s defect="%s"', pod.metadata.name, error)
            return ResourceClaimStatus()
        reserved = ClaimConsumer(resource="pods", name=pod.metadata.name, uid=uid)
        return ResourceClaimStatus(hami.make_allocation(node, uid, parts), (reserved,))

    # --- turns ---------------------------------------------------------------------------------------------

    def holds_back(self, key: str, allocation: Json) -> bool:
        """Return whether a claim of HAMi must not be written yet; else it is its turn from now on."""
        if not key.endswith(SUFFIX):
            return False
        node = str(allocation["devices"]["results"][0]["pool"])
        holder, since = self._turns.get(node, ("", 0.0))
        if holder not in ("", key) and self.wall() - since < TURN_SECONDS:
            return True
        self._turns[node] = key, self.wall()
        return False

    def end_turn(self, key: str) -> None:
        """Note that nobody waits for the device plugin any more for a claim."""
        ended = [node for node, (holder, _) in self._turns.items() if holder == key]
        for node in ended:
            del self._turns[node]
        if ended:
            self.devices.try_blocked()

    def _note_turn(self, key: str, pod: Pod) -> None:
        annotations = pod.metadata.annotations
        phase, node = annotations.get(BIND_PHASE, ""), pod.spec.node_name
        if phase == hami.ALLOCATING and node:
            began = annotations.get(BIND_TIME, "")
            since = float(began) if began.isdecimal() else self.wall()
            self._turns.setdefault(node, (key, since))
        elif phase and phase != hami.ALLOCATING:
            self.end_turn(key)


def _name_claim(pod: Pod) -> str:
    return f"{pod.metadata.namespace or 'default'}/{pod.metadata.name}{SUFFIX}"


def without_gpus(pod: Pod) -> Pod:
    """Return a pod without the resources that its claim stands for."""
    if not hami.asks(pod):
        return pod
    containers = tuple(
        replace(
            each,
            resources=replace(
                each.resources,
                requests=_drop(each.resources.requests),
                limits=_drop(each.resources.limits),
            ),
        )
        for each in pod.spec.containers
    )
    return replace(pod, spec=replace(pod.spec, containers=containers))


def _drop(stated: Resources) -> Resources:
    return {name: value for name, value in stated.items() if name not in hami.RESOURCES}
