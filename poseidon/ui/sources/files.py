"""Reads manifests, saved rounds, or both. A plan places the pods, and flows are computed on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from poseidon.explanations import read_verdicts
from poseidon.kube.api.devices import ResourceClaim, ResourceSlice
from poseidon.kube.api.metadata import Condition, KubeStruct
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.api.other_projects.hyper_nodes import HyperNode
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
from poseidon.kube.api.resource import Change
from poseidon.offline.feeding import as_created
from poseidon.pod_groups.kinds import GROUP_KINDS
from poseidon.ui.cluster.evictions import PREEMPTED, Eviction
from poseidon.ui.cluster.store import ClusterStore
from poseidon.ui.known_rounds import MOST_ROUNDS, summary
from poseidon.ui.page_data import About, Capabilities, Known, SolverStatus
from poseidon.ui.sources.measured import MeasuredUse
from poseidon.ui.sources.source import NotExplainedError
from poseidon.ui.sources.thresholds import thresholds_in
from poseidon.ui.sources.watched_objects import zones_taker
from poseidon.ui.versions import Versions
from poseidon.ui.work.planning import PlannedCluster, explain_pod, plan_cluster
from poseidon.ui.work.process import BusyError, JobError
from poseidon.ui.work.saved import SavedRound, replay_flow
from protos.conventions.number_formats import format_count
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.explanations import Verdict
    from poseidon.kube.api.pods import Pod
    from poseidon.manifests.loader import Manifests
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.work.inputs import ClusterInput
    from poseidon.ui.work.process import Jobs

T = TypeVar("T", bound=KubeStruct)

_PLANNING = "A plan is being made; until it is ready, pods are shown as the files state them."
_AT_ONCE = 1000
_PLAN_SECONDS = 900.0
_EXPLAIN_SECONDS = 120.0
_FLOW_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class FileInput:
    """The files that a dashboard shows.

    ``manifests`` is None if there are only saved rounds; ``given`` is the input for a worker process.
    """

    title: str
    given: ClusterInput
    configuration: BridgeConfiguration | None = None
    manifests: Manifests | None = None
    rounds: Sequence[SavedRound] = field(default_factory=tuple)
    warnings: Sequence[str] = field(default_factory=tuple)


class FileSource:
    """A source of the dashboard's data that reads files; see ``Source``. ``wall`` returns seconds since the epoch."""

    def __init__(self, files: FileInput, worker: Jobs, wall: Callable[[], float]) -> None:
        versions = Versions()
        some = files.manifests is not None
        rounds = {each.number: each for each in files.rounds[-MOST_ROUNDS:]}
        capabilities = Capabilities(
            flow=some or bool(rounds),
            cluster=some,
            pending=some,
            explain=some,
            cures=some,
            groups=some,
            queues=files.configuration is not None and bool(files.configuration.queues.source),
        )
        cluster = next((each.cluster for each in files.rounds), "")
        about = About(
            "manifests" if some else "rounds", files.title, cluster, capabilities, list(files.warnings)
        )
        self._files, self._worker, self._wall = files, worker, wall
        self._saved = rounds
        self._deciding = asyncio.Lock()
        self.known = Known(about, ClusterStore(versions, wall), versions, SolverStatus("embedded", ""))
        self.known.rounds.offered = sorted(rounds)
        self.known.rounds.put_summaries(
            {number: summary(number, each.ended, each.stats, 0) for number, each in sorted(rounds.items())}
        )

    async def run(self) -> None:
        """Read the files and make a plan, then wait until cancelled."""
        if self._files.manifests is not None:
            warnings = self.known.about.warnings
            warnings.append(_PLANNING)
            await self._show(self._files.manifests, None)
            self.known.versions.mark("overview", "cluster", "pending", "groups", "flow")
            try:
                found = await self._worker.do(partial(plan_cluster, self._files.given), _PLAN_SECONDS)
            except JobError as error:
                warnings.append(f"no plan could be made: {error}")
            else:
                await self._take_plan(self._files.manifests, found)
            warnings.remove(_PLANNING)
        await asyncio.Event().wait()

    async def flow(self, number: int) -> pb.RoundFlow | None:
        """Return the flow of a round (0: the newest), or None if there is none."""
        known_rounds = self.known.rounds
        wanted = number or max(self._saved, default=0)
        async with self._deciding:
            if known_rounds.flow(wanted) is None and wanted in self._saved:
                await self._decide(wanted)
        return known_rounds.flow(wanted)

    async def _decide(self, number: int) -> None:
        """Compute the flow of a saved round by deciding it again; a failure is reported once and not repeated."""
        saved = self._saved[number]
        try:
            content = await self._worker.do(partial(replay_flow, str(saved.folder)), _FLOW_SECONDS)
        except BusyError:
            raise
        except JobError as error:
            del self._saved[number]
            self.known.rounds.offered.remove(number)
            self.known.about.warnings.append(f"round {number}: {error}")
        else:
            found = pb.RoundFlow.FromString(content)
            found.ended = saved.ended
            self.known.rounds.put_flow(found)
        self.known.versions.mark("flow", "overview")

    async def verdicts(self, pod: PodEntry) -> Mapping[str, Verdict]:
        """Return the verdict of each node on a pod, from a solver in another process.

        Raises ``NotExplainedError`` if the source has no verdicts on the pod.
        """
        try:
            content = await self._worker.do(
                partial(explain_pod, self._files.given, pod.uid), _EXPLAIN_SECONDS
            )
        except JobError as error:
            raise NotExplainedError(str(error)) from None
        if content is None:
            raise NotExplainedError(
                "the pod takes no part in placement; perhaps it waits for its group or its volumes"
            )
        return read_verdicts(pb.Explanation.FromString(content))

    async def _show(self, manifests: Manifests, plan: PlannedCluster | None) -> None:
        """Pass all objects to the store; if there is a plan, pods are shown as they are after it."""
        known, now = self.known, self._wall()
        groups, objects = known.groups, manifests.for_models
        nodes = [Change(each.metadata.name, each) for each in manifests.nodes]
        known.store.nodes_changed(nodes)
        groups.nodes_changed(nodes)
        for name, kind in GROUP_KINDS.items():
            changes: list[Change[Any]] = _list_changes(objects, kind.struct, name)
            groups.groups_changed(name, changes)
        groups.hyper_nodes_changed(_list_changes(objects, HyperNode))
        maps = _list_changes(objects, ConfigMap)
        groups.group_config_maps_changed(maps)
        groups.tree_maps_changed(maps)
        groups.app_groups_changed(_list_changes(objects, AppGroup))
        groups.topologies_changed(_list_changes(objects, NetworkTopology))
        zones_taker(known)(_list_changes(objects, NodeResourceTopology))
        known.devices.slices_changed(_list_changes(manifests.devices, ResourceSlice))
        claims = manifests.devices if plan is None else plan.claims
        known.devices.claims_changed(_list_changes(claims, ResourceClaim))
        for first in range(0, len(manifests.pods), _AT_ONCE):
            pods = [as_created(each, now) for each in manifests.pods[first : first + _AT_ONCE]]
            if plan is not None:
                pods = [_apply_plan(each, plan) for each in pods]
            known.store.pods_changed([Change(each.metadata.uid, each) for each in pods])
            await asyncio.sleep(0)  # While the loop sleeps, the server answers requests.
        MeasuredUse(known.store, self._wall).take_listed(objects)
        if self._files.configuration is not None:
            models = [each.model_dump() for each in self._files.configuration.all_cost_models]
            known.store.set_thresholds(thresholds_in(models))

    async def _take_plan(self, manifests: Manifests, plan: PlannedCluster) -> None:
        """Show pods as they are after the plan has been carried out, with a warning that says so."""
        known, now = self.known, self._wall()
        await self._show(manifests, plan)
        for uid, node, beneficiary in plan.preempted:
            known.store.evictions.put(
                uid, Eviction(now, uid, node, PREEMPTED, beneficiary or None, gone=True)
            )
        known.store.pods_changed([Change(uid, None) for uid, _, _ in plan.preempted])
        if not self._saved:
            for content in plan.flows:
                flow = pb.RoundFlow.FromString(content)
                known.rounds.put_summaries({flow.round: summary(flow.round, flow.ended, flow.stats, 0)})
                known.rounds.put_flow(flow)
        known.about.warnings += plan.warnings
        known.about.warnings.append(
            f"Pods are shown as after a plan, which binds {format_count(len(plan.bindings), 'pod')}, "
            f"and leaves {len(plan.pending)} waiting."
        )
        known.versions.mark("overview", "cluster", "pending", "groups", "flow")


def _apply_plan(pod: Pod, plan: PlannedCluster) -> Pod:
    """Return a pod as it is after the plan has been carried out."""
    uid = pod.metadata.uid
    if uid in plan.bindings:
        bound = Condition("PodScheduled", "True", last_transition_time=pod.metadata.creation_timestamp)
        status = replace(pod.status, conditions=(*_others(pod), bound))
        return replace(pod, spec=replace(pod.spec, node_name=plan.bindings[uid]), status=status)
    if uid in plan.pending:
        waits = Condition("PodScheduled", "False", "Unschedulable", plan.pending[uid])
        return replace(pod, status=replace(pod.status, conditions=(*_others(pod), waits)))
    return pod


def _others(pod: Pod) -> tuple[Condition, ...]:
    return tuple(each for each in pod.status.conditions if each.type != "PodScheduled")


def _list_changes(objects: Sequence[Any], struct: type[T], kind: str = "") -> list[Change[T]]:
    found = [each for each in objects if isinstance(each, struct)]
    return [Change(_name(kind, each), each) for each in found]


def _name(kind: str, found: Any) -> str:
    return f"{kind} {found.metadata.namespace}/{found.metadata.name}"
