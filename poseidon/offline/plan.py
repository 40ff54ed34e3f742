"""Plans where the pods of some manifests would run: runs rounds in this process until they change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.state import DeviceState
from poseidon.embedding import EmbeddedScheduler
from poseidon.kube.api.pods import Pod
from poseidon.manifests.controllers.applications import OrderedAppGroup
from poseidon.manifests.loader import Manifests
from poseidon.manifests.warning_phrases import suggest_printing
from poseidon.offline.cluster import OfflineCluster, build_offline_cluster
from poseidon.offline.move_costs import PaidMove, find_migrations
from poseidon.offline.planned_groups import Decided, PlannedGroup, plan_groups
from poseidon.offline.planned_queues import PlannedQueue, plan_queues
from poseidon.pod_groups.group_names import find_membership
from poseidon.pod_groups.groups import Groups
from poseidon.pods.tasks import workload_of
from protos.firmament.v1 import scheduler_pb2 as pb

NO_NODES = "0/0 nodes are available: no nodes available to schedule pods."
"""kube-scheduler's words for a cluster without nodes."""

_MAX_ROUNDS = 100
"""Limit on rounds of one plan; most plans need one round.

The limit ends a plan whose solver asks for rounds without end.
"""


@dataclass(frozen=True, slots=True)
class Binding:
    """A pod (``namespace/name``) that gets a node, when the pods in ``after`` are gone or bound."""

    pod: str
    node: str
    after: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """The devices that the pod's claims get, such as ``gpu: gpu.example.com/pool/device``."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations that the bridge writes on the pod for programs that share out GPUs."""

    def as_json(self) -> dict[str, Any]:
        """Return the binding as the JSON object that the documents describe.

        The object has no key ``devices`` or ``annotations`` if their value is empty.
        """
        found = asdict(self)
        return {key: value for key, value in found.items() if value or key not in ("devices", "annotations")}


@dataclass(frozen=True, slots=True)
class Preemption:
    """A running pod that would be evicted; ``preemptor`` is the pod that takes its place."""

    pod: str
    node: str
    preemptor: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A pod that gets no node, and the reason."""

    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node after the plan, with amounts by resource.

    ``free`` is negative if requests exceed the allocatable amount.
    """

    node: str
    pods: int
    allocatable: dict[str, int]
    free: dict[str, int]


@dataclass(slots=True)
class Round:
    """Figures of all rounds of a plan: sums, but for machines, tasks and classes the maximum of any round."""

    machines: int = 0
    """Number of machines."""
    tasks: int = 0
    """Number of tasks."""
    classes: int = 0
    """Number of task classes."""
    arcs: int = 0
    """Number of arcs in the flow networks."""
    waves: int = 0
    """Number of waves: joint solves for many classes."""
    passes: int = 0
    """Number of passes: solves for the tasks that still had no place."""
    solves: int = 0
    """Number of times that a flow network was solved."""
    certified: bool = True
    """Whether all flows were proved optimal."""
    gap: float = 0.0
    """Share of the placements' cost that could be saved at most, from 0 to 1, if rules between pods are ignored."""
    cost: int = 0
    """Cost of all placements, in points."""
    network_cost: float | None = None
    """Network cost of all pods of applications after the plan; None if the overlay for it is off."""
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("snapshot", "network", "solve", "admit"), 0.0)
    )
    """Seconds spent in each stage of the rounds."""

    def add(self, stats: pb.RoundStats) -> None:
        """Add the figures of one more round."""
        for name in ("machines", "tasks", "classes", "arcs"):
            setattr(self, name, max(getattr(self, name), getattr(stats, name)))
        for name in ("waves", "passes", "solves", "cost"):
            setattr(self, name, getattr(self, name) + getattr(stats, name))
        self.certified = self.certified and stats.certified
        self.gap = max(self.gap, stats.gap)
        if stats.HasField("pair_cost"):
            self.network_cost = stats.pair_cost
        for name in self.seconds:
            self.seconds[name] += getattr(stats, f"{name}_seconds")


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of a plan; every list is sorted."""

    bindings: tuple[Binding, ...]
    """Pods to bind, with their nodes."""
    preemptions: tuple[Preemption, ...]
    """Pods to evict."""
    migrations: tuple[PaidMove, ...]
    """Moves of running pods that pay; those that save most come first."""
    pending: tuple[Pending, ...]
    """Pods that stay pending, with the reasons."""
    nodes: tuple[NodeUse, ...]
    """The nodes as they are after the plan."""
    round: Round
    """Figures of the plan's rounds."""
    warnings: tuple[str, ...]
    """Warnings about the input, one line each, for people."""
    app_groups: tuple[OrderedAppGroup, ...] = ()
    """The order of each application's workloads."""
    groups: tuple[PlannedGroup, ...] = ()
    """Groups of pods, with the nodes of their pods."""
    admitted: tuple[str, ...] = ()
    """The pods of ``bindings``, in an order of binding that keeps the rules between pods at each step."""
    workloads: Mapping[str, str] = field(default_factory=dict)
    """The workload of each pending pod, by pod."""
    queues: tuple[PlannedQueue, ...] = ()
    """Queues, and the used part of each quota."""
    draw: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    """Function that draws the first round's network as SVG below a given title.

    The function raises ``ValueError`` if there is no network, or if the network is too large to draw.
    """

    @property
    def waiting(self) -> tuple[Binding, ...]:
        """The bindings that are possible only after victims have left."""
        victims = {each.pod for each in self.preemptions}
        return tuple(each for each in self.bindings if not victims.isdisjoint(each.after))

    def as_json(self) -> dict[str, Any]:
        """Return the plan as the JSON object that the documents describe.

        Only the keys ``networkCost`` and ``queues`` may be missing.
        """
        figures = asdict(self.round)
        network_cost, seconds = figures.pop("network_cost"), figures.pop("seconds")
        figures["gap"] = round(self.round.gap, 9)
        if network_cost is not None:
            figures["networkCost"] = round(network_cost)
        return {
            "bindings": [each.as_json() for each in self.bindings],
            "preemptions": [
                {"pod": each.pod, "node": each.node, "for": each.preemptor} for each in self.preemptions
            ],
            "migrations": [each.as_json() for each in self.migrations],
            "pending": [asdict(each) for each in self.pending],
            "groups": [
                {
                    "group": each.group,
                    "status": each.status,
                    "placement": each.placement,
                    "ranks": each.ranks,
                    "message": each.message,
                    "priority": each.priority,
                    "statedPriority": each.stated,
                }
                for each in self.groups
            ],
            "appGroups": [
                {
                    "appGroup": each.app_group,
                    "topologyOrder": [asdict(workload) for workload in each.workloads],
                }
                for each in self.app_groups
            ],
            **({"queues": [each.as_json() for each in self.queues]} if self.queues else {}),
            "round": {**figures, "seconds": {name: round(spent, 6) for name, spent in seconds.items()}},
        }


def make_plan(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    scheduler_names: frozenset[str] = frozenset(),
    move_cost: float | None = None,
) -> Plan:
    """Schedule the waiting pods of ``manifests``, or only those of ``scheduler_names`` if any are given.

    A move of a running pod is part of the plan if it saves at least ``move_cost`` points; if that is None, no pod
    moves.
    """
    cluster = build_offline_cluster(manifests, configuration, now, scheduler_names=scheduler_names)
    plan = schedule_pods(cluster, manifests)
    if move_cost is None:
        return plan
    leaving = {each.pod for each in plan.preemptions}
    migrations, faults = find_migrations(cluster, manifests, leaving, move_cost)
    return replace(plan, migrations=migrations, warnings=(*plan.warnings, *faults))


def schedule_pods(cluster: OfflineCluster, manifests: Manifests) -> Plan:
    """Schedule the waiting pods of ``cluster``, which was built from ``manifests``.

    Afterwards, the solver and the state of ``cluster`` have these pods on their nodes.
    """
    outcome = _Outcome(cluster)
    scheduler, known = cluster.scheduler, cluster.state.gangs
    while scheduler.has_work() and outcome.rounds < _MAX_ROUNDS:
        result = cluster.run_round()
        outcome.add_round(result)
        if not result.deltas and not scheduler.put_off:
            break
    if cluster.state.queues is not None and not outcome.rounds:
        # The result of this round says how much of each quota the running pods use.
        outcome.add_round(cluster.run_round())
    outcome.drop_failed()
    pending = [Pending(uid, reason) for uid, reason in cluster.held.items()]
    tasks = list(scheduler.tasks())
    pending.extend(_list_waiting(tasks, outcome, has_nodes=bool(manifests.nodes)))
    tree = known.topology.trees.tree()
    decided = Decided(outcome.gangs, outcome.reasons, outcome.preemptors, cluster.held)
    groups = plan_groups(known.groups, tree, tasks, decided)
    # The plan shows nodes as they will be when all victims have left.
    cluster.remove_victims()
    return Plan(
        bindings=tuple(sorted(outcome.bindings, key=lambda each: each.pod)),
        preemptions=tuple(sorted(outcome.preemptions(known.groups), key=lambda each: each.pod)),
        migrations=(),
        pending=tuple(sorted(pending, key=lambda each: each.pod)),
        nodes=tuple(sorted(list_node_uses(scheduler), key=lambda each: each.node)),
        round=outcome.figures,
        warnings=(*cluster.warnings, *scheduler.notes, *_warn_of_budgets(manifests, outcome)),
        app_groups=cluster.app_groups,
        groups=groups,
        admitted=tuple(each.pod for each in outcome.bindings),
        queues=plan_queues(cluster.state),
        workloads={each.pod: _name_workload(cluster.pods[each.pod]) for each in pending},
        draw=scheduler.draw_network,
    )


def _name_workload(pod: Pod) -> str:
    """Return the name of a pod's workload: the pod's controller, else its group, else the pod itself."""
    found = None if pod.metadata.controller() else find_membership(pod)
    if found is None:
        return workload_of(pod)
    kind, namespace, name = found.source
    return "/".join(filter(None, (namespace, kind.partition(" (")[0], name, found.part)))


class _Outcome:
    """Collects the decisions of all rounds of a plan. The uid of a pod is ``namespace/name``, as in `Manifests`."""

    def __init__(self, cluster: OfflineCluster) -> None:
        self._cluster = cluster
        self.rounds = 0
        self.figures = Round()
        self._placed: dict[str, Binding] = {}
        self.reasons: dict[str, str] = {}
        self.gangs: dict[str, pb.GangState] = {}
        self.victims, self.failed = cluster.victims, cluster.failed

    def add_round(self, result: pb.RoundResult) -> None:
        """Add the decisions of one round."""
        self.rounds += 1
        self.figures.add(result.stats)
        for group in result.unscheduled:
            self.reasons.update(dict.fromkeys(group.tasks, group.message))
        self.gangs.update((gang.job, gang) for gang in result.gangs)
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE:
                # A pod that still waits for victims may get another node in a later round.
                self._placed.pop(delta.task, None)
                self._placed[delta.task] = Binding(delta.task, delta.machine, tuple(sorted(delta.depends_on)))

    def drop_failed(self) -> None:
        """Drop placements that the bridge could not carry out, and add devices and annotations to the others."""
        is_placed, devices = self._cluster.is_placed, self._cluster.state.devices
        self._placed = {
            pod: replace(
                each,
                devices=tuple(_describe_devices(devices, pod)),
                annotations=self._cluster.annotated.get(pod, {}),
            )
            for pod, each in self._placed.items()
            if is_placed(pod, each.node)
        }

    @property
    def bindings(self) -> Iterable[Binding]:
        """The bindings, in the order in which the rounds decided them."""
        return self._placed.values()

    @property
    def preemptors(self) -> frozenset[str]:
        """The uids of pods that get a node when victims have left."""
        return frozenset(each.pod for each in self.bindings if not self.victims.keys().isdisjoint(each.after))

    def preemptions(self, groups: Groups) -> Iterable[Preemption]:
        """Yield each victim with the pod, or gang, that takes its place."""
        preemptors = {gone: each.pod for each in self.bindings for gone in each.after}
        for victim, machine in self.victims.items():
            preemptor = preemptors.get(victim, "")
            group = groups.group_of(preemptor)
            if group is not None and groups.job(group).min_members > 1:
                preemptor = group.member.name
            yield Preemption(victim, machine, preemptor)


def _describe_devices(devices: DeviceState, uid: str) -> Iterator[str]:
    for claim, device in devices.list_devices(uid):
        yield f"{claim}: {device.driver}/{device.pool}/{device.name}"


def _warn_of_budgets(manifests: Manifests, outcome: _Outcome) -> Iterable[str]:
    """Yield a warning if pods would be evicted in a real cluster, but the input has no PodDisruptionBudget."""
    dumped = any(
        pod.metadata.uid in outcome.victims and pod.metadata.resource_version for pod in manifests.pods
    )
    if dumped and not manifests.budgets:
        what = "no PodDisruptionBudget is in the input, so pods are evicted as if there were none"
        yield f"{what}; {suggest_printing('poddisruptionbudgets')}"


def _list_waiting(tasks: Iterable[pb.TaskState], outcome: _Outcome, *, has_nodes: bool) -> Iterable[Pending]:
    placed = {each.pod for each in outcome.bindings}
    for task in tasks:
        if task.state in ("PENDING", "BACKOFF") and task.uid not in placed:
            reason = outcome.reasons.get(task.uid) or task.message or outcome.failed.get(task.uid, "")
            yield Pending(task.uid, reason if has_nodes else NO_NODES)


def list_node_uses(scheduler: EmbeddedScheduler) -> Iterable[NodeUse]:
    """Yield how much of each node is used, according to the solver."""
    for state in scheduler.machines():
        yield NodeUse(
            node=state.name,
            pods=state.tasks,
            allocatable={each.resource: each.amount for each in state.allocatable},
            free={each.resource: each.amount for each in state.free},
        )
