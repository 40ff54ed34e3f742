"""A bridge's state behind real reflectors, with the real solver's core, and tenants who live there beside Mallory.

What the API server would send comes in as bytes, by list or watch; what the bridge tells is applied by the embedded
core as the server would, and rounds are carried out and reported. Decent pods run on nodes of their own, which no
hostile pod tolerates or is bound to: whatever happens to them is somebody's fault.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from firmament.wire.events import events_from_proto, reports_from_proto
from poseidon import embedding
from poseidon.app_network.object_writer import _body
from poseidon.bridge.state import BridgeState
from poseidon.kube.api import collections as feeds
from poseidon.kube.api.collections import APP_GROUPS, NETWORK_TOPOLOGIES, NODE_METRICS, tree_maps
from poseidon.kube.api.resource import Resource
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.lifecycle.actions import Action, Bind, Evict, WithdrawEviction
from poseidon.metrics_sources.intake import Intake, SourceMetrics
from poseidon.metrics_sources.koordinator import NodeMetricTaker
from poseidon.metrics_sources.samples import NODE_METRIC
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.hostile.objects import COMMONS

START = 1_767_268_800.0
CONFIGURATION = """\
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
costModels:
  - {name: network_overhead, weight: 5, args: {namespaces: [decent, mallory], networkTopologyName: net}}
  - {name: numa_fit, weight: 2}
  - {name: load_threshold, weight: 1, args: {usageThresholds: {cpu: 65, memory: 95}, allowCustomizeEstimation: true}}
  - {name: topology, weight: 1}
"""
GOOD_NODES = tuple(f"good-{index}" for index in range(4))
POOL = "decent.example/pool"
MOST_ROUNDS = 6


class House:
    """``now`` is the time; ``pods`` are the decent pods by uid, with the node that each was bound to."""

    def __init__(self, folder: Path, configuration: str = CONFIGURATION) -> None:
        self.now = START
        path = folder / "configuration.yaml"
        path.write_text(configuration)
        loaded = self._configuration = embedding.load_configuration(path)
        self.solver = embedding.EmbeddedScheduler(loaded, lambda: self.now)
        self.quarantine = Quarantine()
        self.state = BridgeState(
            loaded,
            self.solver.needs,
            clock=lambda: self.now,
            wall=lambda: self.now,
            quarantine=self.quarantine,
        )
        self.reflectors = self._follow()
        self.solver.apply(self.state.snapshot())
        self.state.gangs.begin()
        self.pods: dict[str, dict[str, Any]] = {}
        self.bound: dict[str, str] = {}
        self.evicted: list[str] = []
        self.placed = 0
        self._version = 0
        self._page = b""

    # --- what is followed ------------------------------------------------------------------------------------------

    def _follow(self) -> dict[type, list[Reflector[Any]]]:
        state, registry = self.state, CollectorRegistry()
        metrics = KubeMetrics(registry)
        self.metrics = registry
        handlers: list[tuple[Resource[Any], Any]] = [
            *((kind.resource, take) for kind, take in state.handlers.items() if state.follows(kind)),
            (tree_maps("default"), state.gangs.topology.tree_maps_changed),
            *((each, state.gangs.get_handler(kind)) for kind, each in feeds.SCALED_OWNERS.items()),
        ]
        for custom in state.custom_resources:
            handlers += [
                (each, state.custom_records.get_handler(custom, i)) for i, each in enumerate(custom.resources)
            ]
        assert state.applications is not None
        handlers += [
            (APP_GROUPS, state.applications.app_groups_changed),
            (NETWORK_TOPOLOGIES, state.applications.topologies_changed),
        ]
        intake = Intake(
            NODE_METRIC,
            state.samples,
            state,
            metrics=SourceMetrics(CollectorRegistry()),
            changed=lambda: None,
        )
        handlers.append((NODE_METRICS, NodeMetricTaker(intake, lambda: self.now).take_changes))
        found: dict[type, list[Reflector[Any]]] = {}
        environment = Environment(
            self,  # type: ignore[arg-type]  # lines are handed in, and lists answered, by hand
            metrics,
            Random(1),
            clock=lambda: self.now,
            quarantine=self.quarantine,
        )
        for resource, take in handlers:
            reflector = Reflector(environment, resource, take)
            found.setdefault(resource.kind, []).append(reflector)
        return found

    def watch(self, kind: type, *events: tuple[str, bytes]) -> None:
        """Let the watch of a kind bring events: type, and the object as JSON."""
        lines = [b'{"type":"%b","object":%b}' % (word.encode(), raw) for word, raw in events]
        for reflector in self.reflectors[kind]:
            reflector._take_lines(lines)

    def relist(self, kind: type, *raws: bytes) -> None:
        """Let the reflectors of a kind list anew, and find these objects, as JSON."""
        for reflector in self.reflectors[kind]:
            self._page = b'{"metadata":{"resourceVersion":"1"},"items":[%b]}' % b",".join(raws)
            asyncio.run(reflector._list())

    async def get(self, path: str, query: Any = None, *, accept: str = "") -> bytes:
        """Answer a reflector's request for a list."""
        return self._page

    # --- decent tenants --------------------------------------------------------------------------------------------

    def settle_in(self) -> None:
        """Nodes for decent pods, nodes for anybody, and namespaces."""
        for index, name in enumerate((*GOOD_NODES, *COMMONS)):
            kept = name in GOOD_NODES
            zone = f"z{index % 2}" if kept else "a"
            places = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
            taints = [{"key": POOL, "value": "yes", "effect": "NoSchedule"}] if kept else []
            node = {
                "metadata": {
                    "name": name,
                    "uid": f"node-{name}",
                    "labels": {**places, **({POOL: "yes"} if kept else {})},
                },
                "spec": {"taints": taints},
                "status": {
                    "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
            self.watch(feeds.NODES.kind, ("ADDED", _json(node)))
        namespace = {"metadata": {"name": "decent", "uid": "ns-decent"}}
        self.watch(feeds.NAMESPACES.kind, ("ADDED", _json(namespace)))

    def create(self, name: str, *, labels: dict[str, str] | None = None, cpu: str = "100m") -> None:
        """Create a decent pod. Nobody is more important than it."""
        pod: dict[str, Any] = {
            "metadata": {
                "name": name,
                "namespace": "decent",
                "uid": f"uid-{name}",
                "labels": labels or {},
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [
                    {"kind": "ReplicaSet", "name": "decent", "uid": "uid-decent", "controller": True}
                ],
            },
            "spec": {
                "schedulerName": "poseidon",
                "priority": 2**31 - 1,
                "nodeSelector": {POOL: "yes"},
                "tolerations": [{"key": POOL, "operator": "Exists"}],
                "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
            },
            "status": {"phase": "Pending"},
        }
        self.pods[pod["metadata"]["uid"]] = pod
        self._emit("ADDED", pod)

    def delete(self, uid: str) -> None:
        """Delete a decent pod."""
        self._emit("DELETED", self.pods.pop(uid))
        self.bound.pop(uid, None)

    def _emit(self, word: str, pod: dict[str, Any]) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        self.watch(feeds.PODS.kind, (word, _json(pod)))

    # --- what the solver and the API server do ---------------------------------------------------------------------

    def turn(self, seconds: float = 1.0) -> None:
        """Let time pass: tell the solver what is new, run rounds and carry them out until nothing is left to do."""
        self.now += seconds
        self.state.expire()
        for _ in range(MOST_ROUNDS):
            self._carry_out(self.state.take_actions())
            self._tell()
            if not self.solver.has_work():
                break
            self.state.on_round(self.solver.run_round())
        self._carry_out(self.state.take_actions())
        self._tell()
        self._write_statuses()

    def start_anew(self) -> None:
        """Let another solver, which knows nothing, take over."""
        self.solver = embedding.EmbeddedScheduler(self._configuration, lambda: self.now)
        self.solver.apply(self.state.snapshot())

    def _tell(self) -> None:
        scheduler = self.solver._scheduler
        reports = self.state.take_reports()
        if reports:
            scheduler.report(reports_from_proto(pb.BindingReports(reports=reports)))
        events = self.state.take_events()
        # Over the wire and back, as between the two processes.
        batch = pb.EventBatch.FromString(pb.EventBatch(events=events).SerializeToString())
        scheduler.apply(events_from_proto(batch.events))

    def _carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Bind(pod, node):
                    self._bind(pod, node)
                case Evict(pod, node, beyond_budget, message):
                    if pod.uid in self.pods:
                        self.evicted.append(pod.uid)
                    request = EvictionRequest(pod, node, beyond_budget, message)
                    self.state.eviction_ended(EvictionOutcome(request, gone=True))
                case WithdrawEviction():
                    pass
                case _:
                    msgspec.json.encode(_plain(action))

    def _bind(self, ref: Any, node: str) -> None:
        request = BindRequest(ref.uid, ref.namespace, ref.name, node)
        refusal = self.state.refusal(ref.uid, node)
        result = BindResult.WITHHELD if refusal else BindResult.BOUND
        pod = self.pods.get(ref.uid)
        if pod is None:
            self.placed += not refusal
        elif not refusal:
            pod["spec"]["nodeName"] = self.bound[ref.uid] = node
            pod["status"] = {"phase": "Running"}
            self._emit("MODIFIED", pod)
        self.state.binding_ended(BindOutcome(request, result, refusal))

    def _write_statuses(self) -> None:
        book = self.state.applications
        assert book is not None
        for key in book.take_dirty():
            found = book.reconcile(key, self.now)
            if found is not None:
                msgspec.json.encode(_body(found[0]))

    # --- how decent tenants fare -----------------------------------------------------------------------------------

    def complaints(self) -> list[str]:
        """Return what decent tenants have to complain about: their own room is large enough for all of them."""
        found = [f"{uid} was evicted" for uid in self.evicted]
        found += [f"{uid} is pending: {self._why(uid)}" for uid in self.pods if uid not in self.bound]
        found += [f"{uid} is on {node}" for uid, node in self.bound.items() if node not in GOOD_NODES]
        return found

    def _why(self, uid: str) -> str:
        record = self.state.tasks.get(uid)
        return f"{record.waits_for or record.message}" if record is not None else "unknown to the bridge"

    def rejected(self) -> float:
        """How many objects could not be decoded."""
        return sum(
            sample.value
            for metric in self.metrics.collect()
            if metric.name == "poseidon_rejected_objects"
            for sample in metric.samples
            if sample.name.endswith("_total")
        )


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _plain(value: Any) -> Any:
    """Return an action as its writer would put it into a body: named tuples as maps, structs as they are."""
    if hasattr(value, "_asdict"):
        return {key: _plain(each) for key, each in value._asdict().items()}
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value
