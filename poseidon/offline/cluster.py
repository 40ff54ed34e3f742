"""A cluster out of manifests, held by a scheduler in this process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from poseidon.app_network.options import NetworkArguments, are_read
from poseidon.disruption_budgets.records import BUDGET_RECORD
from poseidon.disruption_budgets.records import described as budget_record
from poseidon.embedding import EmbeddedScheduler
from poseidon.group_trees.spec.keys import GROUP_RECORD, TREE_NAME, TREE_RECORD
from poseidon.group_trees.spec.options import TreeArguments, trees_are_read
from poseidon.kube.api.node_topology import NodeResourceTopology
from poseidon.manifests.controllers.applications import read_applications
from poseidon.manifests.controllers.groups import described_groups, missing_groups, not_honoured
from poseidon.manifests.controllers.spreading import PlannedSpreading
from poseidon.manifests.controllers.topology import described_topology
from poseidon.manifests.left_out import LeftOut
from poseidon.manifests.missing import missing_app_groups
from poseidon.manifests.storage import volume_state
from poseidon.metrics_sources.listed import ListedUse
from poseidon.nodes import namespaces
from poseidon.nodes.images import NodeImages
from poseidon.nodes.machine import machine
from poseidon.numa.node_topology import RECORD_KIND, CountedPod, described
from poseidon.pods import task_events as events
from poseidon.pods import tasks as pods
from poseidon.pods.classes import ClassTable
from poseidon.pods.daemon_sets import DaemonSets, claimed
from poseidon.pods.priority import PriorityResolver
from poseidon.pods.runtime_history import RuntimeHistory
from poseidon.pods.tasks import Disposition
from poseidon.pods.visibility import visible_to
from poseidon.volumes.claims import claims_of
from poseidon.volumes.requirements import VolumeNeeds
from poseidon.volumes.state import ranked
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.group_trees.spec.cluster_tree import ClusterTree
    from poseidon.kube.api.core import Pod
    from poseidon.manifests.controllers.applications import OrderedAppGroup
    from poseidon.manifests.controllers.topology import DescribedTopology
    from poseidon.manifests.loader import Manifests
    from poseidon.pod_groups.groups import Groups
    from poseidon.pods.visibility import Visibility


@dataclass(frozen=True, slots=True)
class OfflineCluster:
    """A scheduler that knows the cluster. ``held`` says by uid why pods are not to be scheduled yet.

    ``groups`` are those of the pods that take part, ``tree`` is that of the cluster's nodes.
    ``app_groups``: the order of each application's workloads, whether or not a model looks at it.
    """

    scheduler: EmbeddedScheduler
    groups: Groups
    tree: ClusterTree
    held: Mapping[str, str]
    warnings: tuple[str, ...]
    app_groups: tuple[OrderedAppGroup, ...] = ()


def build(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    *,
    scheduler_names: frozenset[str] = frozenset(),
    forced: str = "",
) -> OfflineCluster:
    """Tell a new scheduler about nodes, running pods and waiting pods.

    Every pending pod takes part, or only those of ``scheduler_names`` if any are given. The pod whose uid is
    ``forced`` takes part in any case. ``now`` (seconds since the epoch) stands still, and is the age of
    whatever has no creation time. Pods that run on a node outside the input are left out with a warning.
    """
    scheduler = EmbeddedScheduler(configuration, lambda: now)
    network = configuration.network
    visible = visible_to(scheduler.needs, bandwidth=network.bandwidth_annotations)
    percentile = network.percentile_by(configuration.arguments(NetworkArguments))
    applications = read_applications(manifests.for_models, manifests.nodes, percentile)
    topology = described_topology(
        manifests.for_models,
        manifests.nodes,
        configuration.arguments(TreeArguments),
        is_read=trees_are_read(visible.records),
    )
    spreading = PlannedSpreading(manifests.services, enabled=configuration.pod_topology_spread.enabled)
    feed = _Feed(manifests, now, scheduler_names, forced, visible, topology, spreading)
    overlay = are_read(visible.records)
    records = applications.records if overlay else ()
    scheduler.apply((*(pb.Event(record=each) for each in records), *feed.events()))
    known = [each.app_group for each in applications.app_groups]
    lacking = missing_app_groups(manifests.pods, known) if overlay else ()
    warnings = (*applications.warnings, *lacking, *topology.warnings, *feed.warnings)
    return OfflineCluster(
        scheduler, feed.groups, topology.trees.tree(), feed.held, warnings, applications.app_groups
    )


class _Feed:
    def __init__(
        self,
        manifests: Manifests,
        now: float,
        scheduler_names: frozenset[str],
        forced: str,
        visible: Visibility,
        topology: DescribedTopology,
        spreading: PlannedSpreading,
    ) -> None:
        self._manifests = manifests
        self._now = now
        self._scheduler_names = scheduler_names
        self._forced = forced
        self._daemon_sets = DaemonSets()
        self._unowned: dict[str, list[str]] = {}
        for each in manifests.daemon_sets:
            self._daemon_sets.put(f"{each.namespace}/{each.name}", each)
        # Where the input has no DaemonSets at all, they were left out rather than missing.
        self._is_daemon = self._daemon_sets.owns if manifests.daemon_sets else _says_so
        self._classes = ClassTable(visible, self._is_daemon)
        self._images = NodeImages()
        self._history = RuntimeHistory()
        self._priorities = PriorityResolver(manifests.priority_classes)
        self._nodes = {node.metadata.name for node in manifests.nodes}
        self._waiting: list[pods.Task] = []
        self._placed: list[tuple[pods.Task, str]] = []
        self._jobs: dict[str, pb.Job] = {}
        self._sizes: Counter[str] = Counter()
        self._volumes = volume_state(manifests.storage, manifests.nodes)
        self._topology = topology
        self._spreading = spreading
        self.groups = described_groups(manifests.for_models, manifests.owners, topology)
        self.held: dict[str, str] = {}
        self._left_out = LeftOut()
        self.warnings: list[str] = not_honoured(manifests.for_models)

    def events(self) -> Iterator[pb.Event]:
        """Yield the whole cluster: machines, jobs, namespaces, classes, what finished pods teach, then tasks."""
        for each in self._manifests.pods:
            self._take_claims(each)
            if not self._scheduler_names or pods.scheduler_of(each) in self._scheduler_names:
                self.groups.put_pod(each.metadata.uid, each)
        budgets = list(self._budget_records())
        self._volumes.take_affected()
        for each in self._manifests.pods:
            self._sort(each)
        self.warnings.extend(self._left_out.warnings())
        self.warnings.extend(missing_groups(self.groups))
        for node in self._manifests.nodes:
            described = machine(node, self._classes.visibility.node_annotations)[0]
            offers = sorted(self._volumes.offers(node.metadata.name).items())
            described.allocatable.extend(pb.Quantity(resource=name, amount=amount) for name, amount in offers)
            described.attached.extend(self._volumes.attached(node.metadata.name))
            self._images.put(described.name, described.images)
            yield pb.Event(machine=described)
        yield from self._group_records()
        for job_id, job in self._jobs.items():
            job.size = job.size or self._sizes[job_id]
            yield pb.Event(job=job)
        yield from self._namespace_records()
        yield from budgets
        # Only now is it known what all selectors together look at, and which images make a difference.
        self._images.want(self._classes.take_images())
        self._classes.weigh_images(self._images.take_heavy()[0])
        self._classes.refresh()
        tasks = (*(task for task, _ in self._placed), *self._waiting)
        for number in sorted({task.task_class for task in tasks}):
            yield pb.Event(task_class=self._classes.message(number))
        yield from self._history.take()
        yield from events.bound(self._placed)
        yield from self._topology_records()
        yield from events.submitted(self._waiting)
        self.warnings.extend(self._owner_warnings())
        use = ListedUse(self._manifests.for_models, _PlacedPods(self._nodes, self._placed), self._now)
        self.warnings.extend(use.warnings)
        yield from use.events()

    def _group_records(self) -> Iterator[pb.Event]:
        """Yield the tree and the rules of groups, if some overlay reads them."""
        if not self._topology.is_read:
            return
        spec = self._topology.trees.spec
        payloads = [] if spec is None else [(TREE_RECORD, TREE_NAME, spec.payload())]
        for group in self.groups:
            rules = self.groups.topology(group)
            if rules is not None:
                payloads.append((GROUP_RECORD, group.job.id, rules.payload(group.member.source.namespace)))
        for kind, name, payload in payloads:
            yield pb.Event(record=pb.Record(key=pb.RecordKey(kind=kind, name=name), payload=payload))

    def _namespace_records(self) -> Iterator[pb.Event]:
        """Yield the namespaces of the input, and those of its pods that are not described: they have a name."""
        labels = {each.metadata.name: each.metadata.labels for each in self._manifests.namespaces}
        for name in sorted({*labels, *(pod.metadata.namespace for pod in self._manifests.pods)}):
            payload = namespaces.payload(name, labels.get(name, {}))
            yield pb.Event(
                record=pb.Record(key=pb.RecordKey(kind=namespaces.KIND, name=name), payload=payload)
            )

    def _budget_records(self) -> Iterator[pb.Event]:
        """Yield disruption budgets; classes show what their selectors look at."""
        for each in self._manifests.budgets:
            payload, looks, _ = budget_record(each)
            self._classes.watch(looks)
            key = pb.RecordKey(kind=BUDGET_RECORD, name=pods.qualified_name(each.metadata))
            yield pb.Event(record=pb.Record(key=key, payload=payload))

    def _take_claims(self, pod: Pod) -> None:
        """Note the claims of a pod that runs, or may come to."""
        claims = claims_of(pod)
        if not claims:
            return
        disposition, node = pods.disposition(pod), pod.spec.node_name
        runs = disposition is Disposition.BOUND and node in self._nodes
        if runs or disposition is Disposition.PENDING or pod.metadata.uid == self._forced:
            task = pods.task(pod, self._classes, self._priorities, created=self._now)
            rank = ranked(task.priority, task.created, task.uid)
            self._volumes.put_pod(task.uid, task.name, claims, rank, node if runs else "")

    def _topology_records(self) -> Iterator[pb.Event]:
        """Yield what the input says of NUMA zones, if some overlay reads it, after the pods that they count."""
        if RECORD_KIND not in self._classes.visibility.records:
            return
        for each in self._manifests.for_models:
            if not isinstance(each, NodeResourceTopology):
                continue
            name = each.metadata.name
            payload, defects = described(each, partial(self._on_node, name))
            self.warnings.extend(f"{RECORD_KIND} {name}: {defect}" for defect in defects)
            key = pb.RecordKey(kind=RECORD_KIND, name=name)
            yield pb.Event(record=pb.Record(key=key, payload=payload))

    def _on_node(self, node: str) -> list[CountedPod]:
        return [
            CountedPod(task.uid, task.name, self._classes.message(task.task_class))
            for task, place in self._placed
            if place == node
        ]

    def _sort(self, pod: Pod) -> None:
        """Put a pod where it belongs: on its node, in the queue, or aside."""
        disposition = pods.disposition(pod)
        forced = pod.metadata.uid == self._forced
        node = pod.spec.node_name
        if disposition is Disposition.BOUND and node in self._nodes:
            self._placed.append((self._task(pod), node))
        elif forced:
            self._waiting.append(self._task(pod))
        elif disposition is Disposition.FINISHED:
            self._history.finished(pod.metadata.uid, pod)
        elif disposition is Disposition.BOUND:
            self._left_out.elsewhere(pod)
        elif self._scheduler_names and pods.scheduler_of(pod) not in self._scheduler_names:
            if disposition in (Disposition.PENDING, Disposition.GATED):
                self._left_out.of_other_scheduler(pod)
        elif disposition is Disposition.GATED:
            self.held[pod.metadata.uid] = pods.GATED_REASON
        elif disposition is Disposition.PENDING and self._volumes.resolution(pod.metadata.uid).reason:
            resolution = self._volumes.resolution(pod.metadata.uid)
            self.held[pod.metadata.uid] = resolution.message(len(self._nodes))
        elif disposition is Disposition.PENDING and self._group_wait(pod):
            self.held[pod.metadata.uid] = self._group_wait(pod)
        elif disposition is Disposition.PENDING:
            self._waiting.append(self._task(pod))

    def _note_owner(self, pod: Pod) -> None:
        """Note a pod whose DaemonSet is not known, if that makes a difference."""
        owner = claimed(pod) if self._classes.visibility.daemons else None
        if owner is not None and not self._is_daemon(pod):
            name = f"{pod.metadata.namespace}/{owner.name}"
            self._unowned.setdefault(name, []).append(pods.qualified_name(pod.metadata))

    def _owner_warnings(self) -> Iterator[str]:
        """Yield one line for each DaemonSet that pods name and the input lacks."""
        for name, users in sorted(self._unowned.items()):
            more = f" and {len(users) - 1} more" if len(users) > 1 else ""
            yield (
                f"Pod {users[0]}{more}: metadata.ownerReferences: DaemonSet {name} is not in the input, thresholds of "
                "use hold as for any pod; add it with -f"
            )

    def _group_wait(self, pod: Pod) -> str:
        """Return what the group of a pod waits for, "" if it has none or nothing keeps it."""
        group = self.groups.group_of(pod.metadata.uid)
        if group is None:
            return ""
        return self.groups.waits_for(group) or self.groups.beyond(pod.metadata.uid)

    def _task(self, pod: Pod) -> pods.Task:
        group = self.groups.group_of(pod.metadata.uid)
        job = self.groups.job(group) if group is not None else pods.job(pod.metadata)
        if job is not None and group is not None:
            self._jobs[job.id] = job
        elif job is not None:
            self._jobs.setdefault(job.id, job)
        if job is not None:
            self._sizes[job.id] += 1
        pin = self._manifests.pinned.get(pod.metadata.uid, "")
        task = pods.task(pod, self._classes, self._priorities, machine=pin, created=self._now)
        resolution = self._volumes.resolution(task.uid)
        needs = VolumeNeeds(invalid=resolution.reason) if resolution.reason else resolution.needs
        self._note_owner(pod)
        own = task.job if job is None else job.id
        if group is not None:
            task = self.groups.ranked(group, task)
        traits = self._classes.with_needs(task.traits, needs)
        return replace(task, job=own, traits=traits, spread=self._spreading.group(pod))


def _says_so(pod: Pod) -> bool:
    return claimed(pod) is not None


class _PlacedPods:
    """The view that sources of use have of manifests; the uid of a pod is ``namespace/name`` here."""

    def __init__(self, nodes: set[str], placed: Iterable[tuple[pods.Task, str]]) -> None:
        self._nodes = nodes
        self._node_of = {task.uid: node for task, node in placed}

    def knows_node(self, name: str) -> bool:
        return name in self._nodes

    def node_of(self, namespace: str, name: str) -> str:
        return self._node_of.get(f"{namespace}/{name}", "")

    def uid_of(self, namespace: str, name: str, node: str) -> str:
        return f"{namespace}/{name}" if node and self.node_of(namespace, name) == node else ""
