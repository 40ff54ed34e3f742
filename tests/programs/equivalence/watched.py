"""What a bridge's process does between the API server's bytes and the solver, without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from poseidon import embedding
from poseidon.bridge.state import BridgeState
from poseidon.group_trees.spec.trees import TreeArguments, models_need_trees
from poseidon.kube.api import collections as feeds
from poseidon.kube.api import kinds
from poseidon.kube.api.collections import NODE_METRICS
from poseidon.kube.api.resource import Resource
from poseidon.kube.api.storage import SELECTED_NODE
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.lifecycle.actions import AnnounceUnschedulable, Bind, Evict
from poseidon.metrics_sources.intake import Intake, SourceMetrics
from poseidon.metrics_sources.koordinator import NodeMetricTaker
from poseidon.metrics_sources.metrics_server import MetricsServerSource
from poseidon.metrics_sources.options import MetricsServerOptions
from poseidon.metrics_sources.samples import METRICS_SERVER, NODE_METRIC
from poseidon.offline.device_controllers import make_write
from poseidon.pods.visibility import visible_to
from tests.programs.equivalence.api_side import ApiSide, Object, path_of

PODS, CLAIMS, VOLUMES = feeds.PODS.path, feeds.CLAIMS.path, feeds.VOLUMES.path
BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
MOST_ROUNDS = 100


class WatchedCluster:
    """``bound``, ``messages`` of conditions and ``evicted`` are by ``namespace/name``.

    A claim that comes to be bound makes the bridge ask again why others wait, which a plan does not see;
    ``before_claims`` are the messages from before the first one was written.
    """

    def __init__(self, api: ApiSide, configuration: Any, now: float, scheduler_names: frozenset[str]) -> None:
        self.api, self._now = api, now
        self.solver = embedding.EmbeddedScheduler(configuration, lambda: now)
        self.quarantine = Quarantine()
        arguments = configuration.arguments(TreeArguments)
        self._trees = arguments if models_need_trees(visible_to(self.solver.needs).records) else None
        self._spreads = configuration.pod_topology_spread.enabled
        evictions = configuration.evictions.model_copy(update={"burst": 10**9})
        said_at_once = configuration.announcements.model_copy(update={"counts_after": 0.0})
        sections = {"evictions": evictions, "announcements": said_at_once}
        self.state = BridgeState(
            configuration.model_copy(update={"scheduler_names": tuple(scheduler_names), **sections}),
            self.solver.needs,
            clock=lambda: now,
            wall=lambda: now,
            quarantine=self.quarantine,
        )
        self._metrics = KubeMetrics(CollectorRegistry())
        self.reflectors = dict(self._follow())
        self.bound: dict[str, str] = {}
        self.messages = dict(_said(api))
        self.before_claims: dict[str, str] | None = None
        self.evicted: dict[str, Evict] = {}

    # --- what is followed ------------------------------------------------------------------------------------------

    def _follow(self) -> Iterator[tuple[str, Reflector[Any]]]:
        """Yield reflectors by name, in the order in which a bridge lists."""
        state = self.state
        handlers: list[tuple[Resource[Any], Callable[..., None]]] = [
            (kind.resource, state.handlers[kind]) for kind in kinds.BEFORE_PODS if state.follows(kind)
        ]
        if self._trees is not None:
            handlers.append((feeds.tree_maps(self._trees.namespace), state.gangs.topology.tree_maps_changed))
        owners = [(each, state.owner_taker(kind)) for kind, each in feeds.SCALED_OWNERS.items()]
        pods: list[tuple[Resource[Any], Callable[..., None]]] = [(feeds.PODS, state.pods_changed)]
        if state.queues is not None and state.queues.looks_at_owners:
            state.queues.follows_owners = True
            handlers += [*owners, *pods]
        else:
            handlers += [*pods, *owners]
        if state.applications is not None:
            handlers.append((feeds.APP_GROUPS, state.applications.app_groups_changed))
            handlers.append((feeds.NETWORK_TOPOLOGIES, state.applications.topologies_changed))
        for custom in state.custom_resources:
            handlers += [
                (each, state.custom_records.get_handler(custom, i)) for i, each in enumerate(custom.resources)
            ]
        for resource, take in handlers:
            yield resource.name, self._reflector(resource, take)
        handler = NodeMetricTaker(self._intake(NODE_METRIC), lambda: self._now)
        yield NODE_METRICS.name, self._reflector(NODE_METRICS, handler.take_changes)

    def _intake(self, source: str) -> Intake:
        metrics = SourceMetrics(CollectorRegistry())
        return Intake(source, self.state.samples, self.state, metrics=metrics, changed=lambda: None)

    def _reflector(self, resource: Resource[Any], take: Any) -> Reflector[Any]:
        return Reflector(
            Environment(
                self.api,  # type: ignore[arg-type]  # answers lists; lines of watches are handed in
                self._metrics,
                Random(1),
                clock=lambda: self._now,
                quarantine=self.quarantine,
                reflector=ReflectorOptions(page_size=7),
            ),
            resource,
            take,
        )

    def list_all(self) -> None:
        """Let every reflector list, in the order in which they do at the start."""
        asyncio.run(self._list_all())
        self.state.gangs.begin()

    async def _list_all(self) -> None:
        for each in self.reflectors.values():
            await each._list()
        await self.look_elsewhere()

    async def look_elsewhere(self) -> None:
        """Read what is not followed by a reflector of its own from the start: wanted ConfigMaps, and metrics.k8s.io."""
        book = self.state.applications
        for namespace, name in book.topologies.list_config_maps() if book is not None else ():

            def take(changes: Any, name: tuple[str, str] = (namespace, name)) -> None:
                for change in changes:
                    assert book is not None
                    book.config_map_changed(name, change.object.data)

            await self._reflector(feeds.config_map(namespace, name), take)._list()
        source = MetricsServerSource(
            self.api,  # type: ignore[arg-type]  # answers lists
            self._intake(METRICS_SERVER),
            MetricsServerOptions(pods="/apis/metrics.k8s.io/v1beta1/pods" in self.api.collections),
            lambda: self._now,
        )
        await source.poll()

    def show(self, word: str, made: Object) -> None:
        """Let the watches of an object's collection bring a line about it."""
        line = msgspec.json.encode({"type": word, "object": made})
        for each in self.reflectors.values():
            resource, labels = each._resource, made["metadata"].get("labels", {})
            _, _, space = resource.path.partition("/namespaces/")
            path = (
                resource.path.replace(f"/namespaces/{space.partition('/')[0]}", "")
                if space
                else resource.path
            )
            ours = not space or made["metadata"].get("namespace") == space.partition("/")[0]
            if (
                path_of(made) in (path, *resource.other_paths)
                and ours
                and (not resource.label_selector or resource.label_selector in labels)
            ):
                each._take_lines([line])

    # --- rounds ----------------------------------------------------------------------------------------------------

    def schedule(self) -> None:
        """Run rounds until nothing is left to do; who has to go, or is going, is gone at the end: time stands still."""
        self._tell(self.state.snapshot())
        for _ in range(MOST_ROUNDS):
            self._carry_out()
            self._tell(self.state.take_events())
            if not self.solver.has_work():
                break
            result = self.solver.run_round()
            self.state.on_round(result)
            self._provision()
            if not result.deltas:
                break
        self._carry_out()
        evicted = {action.pod.uid for action in self.evicted.values()}
        for uid, pod in [*self.api.collections.get(PODS, {}).items()]:
            if uid in evicted or pod["metadata"].get("deletionTimestamp"):
                self.api.delete(pod)
                self.show("DELETED", pod)
        self._carry_out()
        self._tell(self.state.take_events())

    def _tell(self, events: Any) -> None:
        self.solver.report(self.state.take_reports())
        self.solver.apply(events)

    def _carry_out(self) -> None:
        while actions := self.state.take_actions():
            for action in actions:
                match action:
                    case Bind(pod, node):
                        self._bind(pod, node)
                    case Evict():
                        self.evicted[f"{action.pod.namespace}/{action.pod.name}"] = action
                    case AnnounceUnschedulable(pod, message):
                        self._condition(pod, message)
                    case DeviceClaimWrite():
                        self._write_device_claim(action)
                    case SelectNode() | GiveVolume():
                        self._write_claim(action)

    def _write_device_claim(self, write: DeviceClaimWrite) -> None:
        """Make a write of a claim, and name a claim that is made for a pod in its status."""
        make_write(self.state, write, self._now)
        if write.report is not None and write.join:
            patch = write.report[1]
            known = self.api.collections[PODS][patch["metadata"]["uid"]]
            status = {**known.get("status", {}), **patch["status"]}
            self.show("MODIFIED", self.api.write({**known, "status": status}))

    def _bind(self, pod: Any, node: str) -> None:
        request = BindRequest(pod.uid, pod.namespace, pod.name, node)
        refusal = self.state.refusal(pod.uid, node)
        if refusal:
            self.state.binding_ended(BindOutcome(request, BindResult.WITHHELD, refusal))
            return
        known = self.api.collections[PODS][pod.uid]
        assert not known["spec"].get("nodeName"), "bound twice"
        self.bound[f"{pod.namespace}/{pod.name}"] = node
        found = self.api.write({**known, "spec": {**known["spec"], "nodeName": node}})
        self.show("MODIFIED", found)
        self.state.binding_ended(BindOutcome(request, BindResult.BOUND))

    def _condition(self, pod: Any, message: str) -> None:
        self.messages[f"{pod.namespace}/{pod.name}"] = message
        known = self.api.collections[PODS][pod.uid]
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        status = {**known.get("status", {}), "conditions": [condition]}
        self.show("MODIFIED", self.api.write({**known, "status": status}))

    def _provision(self) -> None:
        """Make volumes for the claims whose node was chosen before the bridge began."""
        for claim in [*self.api.collections.get(CLAIMS, {}).values()]:
            chosen = SELECTED_NODE in claim["metadata"].get("annotations", {})
            if chosen and not claim["spec"].get("volumeName"):
                self._bind_claim(claim, "")

    def _provisioner(self, claim: Object) -> str:
        of_claim = claim["spec"].get("storageClassName", "")
        return str(self.api.named(feeds.STORAGE_CLASSES.path, "", of_claim)["provisioner"])

    def _write_claim(self, write: Any) -> None:
        if self.before_claims is None:
            self.before_claims = dict(self.messages)
        claim = self.api.named(CLAIMS, write.namespace, write.claim)
        self._bind_claim(claim, "" if isinstance(write, SelectNode) else write.volume)

    def _bind_claim(self, claim: Object, given: str) -> None:
        """Do the volume controller's part: bind a claim to the volume of this name, "" for one that is made for it."""
        own: Object = claim["metadata"]
        if not given:
            name = f"pvc-{own['uid']}"
            volume: Object = {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name, "uid": name},
            }
            requested = claim["spec"].get("resources", {}).get("requests", {})
            volume["spec"] = {
                "capacity": requested,
                "accessModes": claim["spec"].get("accessModes", []),
                "storageClassName": claim["spec"].get("storageClassName", ""),
                "csi": {"driver": self._provisioner(claim), "volumeHandle": name},
            }
        else:
            volume = self.api.named(VOLUMES, "", given)
        reference = {key: own[key] for key in ("namespace", "name", "uid")}
        volume = self.api.write({**volume, "spec": {**volume["spec"], "claimRef": reference}})
        self.show("MODIFIED", volume)
        metadata = {**own, "annotations": {**own.get("annotations", {}), **BOUND}}
        spec = {**claim["spec"], "volumeName": volume["metadata"]["name"]}
        bound = {**claim, "metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}
        self.show("MODIFIED", self.api.write(bound))


def _said(api: ApiSide) -> Iterator[tuple[str, str]]:
    """What pods' conditions say at the start."""
    for pod in api.collections.get(PODS, {}).values():
        for each in pod.get("status", {}).get("conditions", ()):
            if each["type"] == "PodScheduled":
                yield f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", each.get("message", "")
