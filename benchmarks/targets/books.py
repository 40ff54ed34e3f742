"""The bridge's own state machine as the source of events, so that manifests are translated as in production."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from benchmarks.declarative.templates import Manifest
from benchmarks.targets.base import TargetError
from poseidon.bridge.actions import Bind
from poseidon.bridge.state import BridgeState
from poseidon.demo.tracker import PodName
from poseidon.kube.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.decoding import MalformedObjectError, decode_object
from poseidon.kube.following import Change
from poseidon.kube.objects import Namespace, Node, ObjectMeta, Pod, PriorityClass
from protos.firmament.v1 import scheduler_pb2 as pb


class Books:
    """What a bridge would know, told of manifests instead of watch events; bindings succeed at once.

    Objects have ``namespace/name`` as their uid; namespaces appear with their first object. ``policy`` and
    ``overlays``: what the solver is configured with, by which pods are told apart.
    """

    def __init__(
        self, policy: str, overlays: Sequence[str] = (), timer: Callable[[], float] = time.perf_counter
    ) -> None:
        self._state = BridgeState(["poseidon"], policy, overlays)
        self._timer = timer
        self._created: dict[str, float] = {}
        self._unplaced: set[str] = set()
        self._namespaces: set[str] = set()
        self.placed = 0
        self.latencies: list[float] = []

    @property
    def waiting(self) -> int:
        """Pods that have been told that they fit nowhere."""
        return len(self._unplaced)

    @property
    def unsettled(self) -> int:
        """Pods that neither have a node nor have been told that they fit nowhere."""
        return len(self._created.keys() - self._unplaced)

    def create(self, objects: Sequence[Manifest]) -> None:
        """Take objects as if a watch had shown them."""
        now = self._timer()
        pods: list[Change[Pod]] = []
        nodes: list[Change[Node]] = []
        self._found_namespaces({manifest.namespace for manifest in objects if manifest.namespace})
        for manifest in objects:
            try:
                match manifest.kind:
                    case "Pod":
                        pods.append(self._pod(manifest, now))
                    case "Node":
                        nodes.append(Change(manifest.name, decode_object(manifest.raw, Node)))
                    case "PriorityClass":
                        change = Change(manifest.name, decode_object(manifest.raw, PriorityClass))
                        self._state.priority_classes_changed([change])
                    case "Namespace":
                        self._namespaces.add(manifest.name)
                        self._state.namespaces_changed(
                            [Change(manifest.name, decode_object(manifest.raw, Namespace))]
                        )
                    case _:
                        raise TargetError(
                            f"{manifest.kind} {manifest.name}: the bridge follows no such objects"
                        )
            except MalformedObjectError as error:
                raise TargetError(f"{manifest.kind} {manifest.name}: {error}") from None
        self._state.nodes_changed(nodes)
        self._state.pods_changed(pods)

    def delete(self, names: Iterable[PodName]) -> None:
        """Take pods away."""
        uids = [f"{namespace}/{name}" for namespace, name in names]
        self._state.pods_changed([Change(uid, None) for uid in uids])
        for uid in uids:
            self._created.pop(uid, None)
            self._unplaced.discard(uid)

    def take_events(self) -> list[pb.Event]:
        """What the solver has to be told, once."""
        return self._state.take_events()

    def take_reports(self) -> list[pb.BindingReport]:
        """What has become of placements, once."""
        return self._state.take_reports()

    def on_round(self, result: pb.RoundResult) -> None:
        """Carry out a round: every binding succeeds, in the order in which the bridge asks for them."""
        now = self._timer()
        for group in result.unscheduled:
            self._unplaced.update(group.tasks)
        self._state.on_round(result)
        while binds := [action for action in self._state.take_actions() if isinstance(action, Bind)]:
            for pod, node in binds:
                self._note_bound(pod.uid, now)
                request = BindRequest(pod.uid, pod.namespace, pod.name, node)
                self._state.binding_ended(BindOutcome(request, BindResult.BOUND))

    def _found_namespaces(self, names: set[str]) -> None:
        """Namespaces without an object of their own have the label that every namespace has."""
        for name in sorted(names - self._namespaces):
            labels = {"kubernetes.io/metadata.name": name}
            self._state.namespaces_changed(
                [Change(name, Namespace(metadata=ObjectMeta(name=name, labels=labels)))]
            )
        self._namespaces |= names

    def _note_bound(self, uid: str, now: float) -> None:
        created = self._created.pop(uid, None)
        self._unplaced.discard(uid)
        if created is not None:
            self.placed += 1
            self.latencies.append(now - created)

    def _pod(self, manifest: Manifest, now: float) -> Change[Pod]:
        pod = decode_object(manifest.raw, Pod)
        uid = f"{manifest.namespace}/{manifest.name}"
        if not pod.spec.node_name:
            self._created[uid] = now
        return Change(uid, replace(pod, metadata=replace(pod.metadata, uid=uid)))
