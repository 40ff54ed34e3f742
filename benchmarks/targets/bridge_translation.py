"""Uses the bridge's own state as the source of events, so that manifests are translated as in production."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from benchmarks.declarative.templates import Manifest
from benchmarks.quality.verification import count_broken_rules
from benchmarks.targets.base import TargetError
from poseidon.bridge.state import BridgeState
from poseidon.demo.binding_latency import PodName
from poseidon.kube.api import kinds
from poseidon.kube.api.collections import (
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUMES,
)
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta, PodRef
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.lifecycle.actions import Bind, Evict
from protos.firmament.v1 import scheduler_pb2 as pb

_STRUCTS: dict[str, type[KubeStruct]] = {
    "Namespace": NAMESPACES.kind,
    "PriorityClass": PRIORITY_CLASSES.kind,
    "StorageClass": STORAGE_CLASSES.kind,
    "CSINode": CSI_NODES.kind,
    "CSIDriver": CSI_DRIVERS.kind,
    "CSIStorageCapacity": STORAGE_CAPACITIES.kind,
    "PersistentVolume": VOLUMES.kind,
    "PersistentVolumeClaim": CLAIMS.kind,
    "Node": NODES.kind,
    "PodGroup": NATIVE_POD_GROUPS.kind,
    "Pod": PODS.kind,
}


class ManifestBridge:
    """The bridge's state, fed with manifests instead of watch events; bindings succeed at once.

    Objects have ``namespace/name`` as their uid; namespaces appear with their first object. ``needs``: what
    the solver's models look at, by which pods are told apart.
    """

    def __init__(self, needs: Sequence[str], timer: Callable[[], float] = time.perf_counter) -> None:
        self._state = BridgeState(needs=needs)
        state = self._state
        # Objects that pods refer to come first.
        self._take: dict[str, Callable[[Sequence[Change[Any]]], None]] = {
            "Namespace": state.handlers[kinds.NAMESPACE],
            "PriorityClass": state.handlers[kinds.PRIORITY_CLASS],
            "StorageClass": state.handlers[kinds.STORAGE_CLASS],
            "CSINode": state.handlers[kinds.CSI_NODE],
            "CSIDriver": state.handlers[kinds.CSI_DRIVER],
            "CSIStorageCapacity": state.handlers[kinds.STORAGE_CAPACITY],
            "PersistentVolume": state.handlers[kinds.VOLUME],
            "PersistentVolumeClaim": state.handlers[kinds.CLAIM],
            "Node": state.nodes_changed,
            "PodGroup": state.handlers[kinds.NATIVE_POD_GROUP],
            "Pod": state.pods_changed,
        }
        self._timer = timer
        self._created: dict[str, float] = {}
        self._unplaced: set[str] = set()
        self._namespaces: set[str] = set()
        self._manifests: dict[tuple[str, str], bytes] = {}
        self._node_of: dict[str, str] = {}
        self.placed = 0
        self.latencies: list[float] = []

    @property
    def waiting(self) -> int:
        """Pods that have been reported as fitting on no node."""
        return len(self._unplaced)

    @property
    def unsettled(self) -> int:
        """Pods that neither have a node nor have been reported as fitting on no node."""
        return len(self._created.keys() - self._unplaced)

    def create(self, objects: Sequence[Manifest]) -> None:
        """Add objects as if watches had shown them."""
        now = self._timer()
        changes: dict[str, list[Change[Any]]] = {kind: [] for kind in self._take}
        self._add_namespaces({manifest.namespace for manifest in objects if manifest.namespace})
        for manifest in objects:
            if manifest.kind not in changes:
                raise TargetError(f"{manifest.kind} {manifest.name}: the bridge follows no such objects")
            change = _change(manifest)
            changes[manifest.kind].append(change)
            self._manifests[manifest.kind, change.uid] = manifest.raw
        for kind, take in self._take.items():
            if changes[kind]:
                take(changes[kind])
        for change in changes["Pod"]:
            if change.object is not None and not change.object.spec.node_name:
                self._created[change.uid] = now

    def delete(self, names: Iterable[PodName]) -> None:
        """Remove pods."""
        uids = [f"{namespace}/{name}" for namespace, name in names]
        self._state.pods_changed([Change(uid, None) for uid in uids])
        for uid in uids:
            self._created.pop(uid, None)
            self._unplaced.discard(uid)
            self._node_of.pop(uid, None)
            self._manifests.pop(("Pod", uid), None)

    def count_broken_rules(self) -> dict[str, int]:
        """Return how many placed pods break each rule."""
        objects = [msgspec.json.decode(raw) for raw in self._manifests.values()]
        return count_broken_rules(objects, self._node_of)

    def take_events(self) -> list[pb.Event]:
        """Return the events for the solver since the last call."""
        return self._state.take_events()

    def take_reports(self) -> list[pb.BindingReport]:
        """Return the reports of placements since the last call."""
        return self._state.take_reports()

    def on_round(self, result: pb.RoundResult) -> None:
        """Carry out a round: every binding succeeds, in the order of requests; victims end."""
        now = self._timer()
        for group in result.unscheduled:
            self._unplaced.update(group.tasks)
        self._state.on_round(result)
        while actions := self._state.take_actions():
            for action in actions:
                match action:
                    case Bind(pod, node):
                        self._bind(pod, node, now)
                    case Evict(pod):
                        self._state.eviction_ended(EvictionOutcome(EvictionRequest(*action)))
                        self.delete([PodName(pod.namespace, pod.name)])

    def _bind(self, pod: PodRef, node: str, now: float) -> None:
        self._note_bound(pod.uid, now)
        self._node_of[pod.uid] = node
        request = BindRequest(pod.uid, pod.namespace, pod.name, node)
        self._state.binding_ended(BindOutcome(request, BindResult.BOUND))

    def _add_namespaces(self, names: set[str]) -> None:
        """Give namespaces without an object of their own the label that every namespace has."""
        for name in sorted(names - self._namespaces):
            labels = {"kubernetes.io/metadata.name": name}
            self._state.handlers[kinds.NAMESPACE](
                [Change(name, Namespace(metadata=ObjectMeta(name=name, labels=labels)))]
            )
        self._namespaces |= names

    def _note_bound(self, uid: str, now: float) -> None:
        created = self._created.pop(uid, None)
        self._unplaced.discard(uid)
        if created is not None:
            self.placed += 1
            self.latencies.append(now - created)


def _change(manifest: Manifest) -> Change[Any]:
    """Return the object as a watch would show it, with its name as its uid."""
    uid = f"{manifest.namespace}/{manifest.name}" if manifest.namespace else manifest.name
    try:
        found: Any = decode_object(manifest.raw, _STRUCTS[manifest.kind])
    except MalformedObjectError as error:
        raise TargetError(f"{manifest.kind} {manifest.name}: {error}") from None
    return Change(uid, replace(found, metadata=replace(found.metadata, uid=uid)))
