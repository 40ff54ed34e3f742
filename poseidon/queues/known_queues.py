"""Keeps all queues and the pods in each queue, and writes the records that tell the solver the quotas."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from poseidon.custom_records import CustomRecords, NameIndex
from poseidon.kube.api.kinds import WatchedKind
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.kube.api.other_projects.queues import LocalQueue
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine
from poseidon.namespaces import labels_of
from poseidon.pod_groups.group_names import Membership, ObjectKey, kueue_group
from poseidon.pod_rules.tolerations_from_flavors import GivenTolerations
from poseidon.queues.flavor_tolerations import list_given
from poseidon.queues.model import (
    ANY,
    FLAVOR_RECORD,
    LOWER_PRIORITY,
    NEVER,
    QUOTA_RECORD,
    Flavor,
    QuotaNode,
    QuotaTrees,
    iterate_topologies,
)
from poseidon.queues.options import QueueOptions, QueueSource
from poseidon.queues.owners import OwnerKey, Owners, find_priority_class, find_reference
from poseidon.queues.priorities import WorkloadPriorities
from poseidon.queues.queue_names import (
    BY_NAMESPACE,
    BY_OWNER,
    GANG_KINDS,
    GROUP_INDEX,
    Claimant,
    QueueReference,
    read_claimant,
)
from poseidon.queues.queue_objects import NOTHING, SHELVES, KueueQueues, NamedQuota, ProjectQueues

_log = logging.getLogger(__name__)


class KnownQueues:
    """The queues of the projects that ``options`` name, and their pods; ``records`` sends the quotas to the solver.

    Changes of objects take effect with ``settle``. If the objects of a project cannot be read, ``quarantine`` records
    the fault, and the project's queues stay as they were. Not thread-safe.
    """

    def __init__(self, options: QueueOptions, records: CustomRecords, quarantine: Quarantine) -> None:
        self.options = options
        self._records = records
        self._quarantine = quarantine
        self._enforced = tuple(source for source in options.source if options.enforces(source))
        self._shelves: dict[QueueSource, ProjectQueues] = {
            source: SHELVES[source](options) for source in options.source if source in SHELVES
        }
        self.trees: dict[QueueSource, QuotaTrees] = {source: QuotaTrees() for source in self._shelves}
        """The quotas and flavors of each project."""
        self.quotas: dict[str, QuotaNode] = {}
        """All quotas that the solver enforces, by name of the quota."""
        self._flavors: dict[str, Flavor] = {}
        self._given: dict[str, GivenTolerations] = {}
        self._topologies: dict[str, tuple[TopologyLevels, ...]] = {}
        self._topologies_moved = False
        self._unread: set[QueueSource] = set()
        self._owners = Owners()
        self._namespace_names = NameIndex()
        self._namespace_labels: dict[str, dict[str, str]] = {}
        self._claimants: dict[str, Claimant] = {}
        self._references: dict[str, QueueReference] = {}
        self.priorities = WorkloadPriorities(self._list_priorities)
        """The priorities that pods get from the WorkloadPriorityClasses of their workloads."""
        self._pods: defaultdict[QueueReference, set[str]] = defaultdict(set)
        self.touched: dict[QueueReference, None] = {}
        """The queue references that pods have been added to or removed from; the reader empties the mapping."""
        self._resolved: dict[QueueReference, NamedQuota] = {}
        self._moved: dict[str, None] = {}
        self._regrouped: dict[str, None] = {}
        self.follows_owners = False
        """Whether the bridge watches all owners of pods, so that a pod waits until its owner is known."""

    # --- objects -------------------------------------------------------------------------------------------

    def reads(self, kind: WatchedKind) -> bool:
        """Return whether objects of a kind describe queues of a project that the configuration names."""
        return any(kind in shelf.objects.kinds for shelf in self._shelves.values())

    @property
    def looks_at_owners(self) -> bool:
        """Whether pods may be in queues that only their owners name."""
        return not BY_OWNER.isdisjoint(self._enforced)

    def get_handler(self, kind: WatchedKind) -> Callable[[Sequence[Change[Any]]], None]:
        """Return the function to call with changes of objects of this kind, for which ``reads`` is true."""
        source = next(source for source, shelf in self._shelves.items() if kind in shelf.objects.kinds)
        objects = self._shelves[source].objects

        def take_changes(changes: Sequence[Change[Any]]) -> None:
            for change in changes:
                if change.object is None:
                    objects.remove(kind, change.uid)
                else:
                    objects.put(kind, change.uid, change.object)
            self._unread.add(source)

        return take_changes

    def take_namespaces(self, changes: Sequence[Change[Namespace]]) -> None:
        """Add, update or remove namespaces, whose labels decide whether a queue accepts their pods."""
        for uid, namespace in changes:
            if namespace is None:
                self._namespace_labels.pop(self._namespace_names.remove(uid), None)
            else:
                name = namespace.metadata.name
                self._namespace_names.put(uid, name)
                self._namespace_labels[name] = labels_of(name, namespace.metadata.labels)
        self._unread.update(self._enforced)

    def take_owners(self, kind: str, changes: Sequence[Change[Any]]) -> None:
        """Add, update or remove objects that may own pods."""
        for uid, found in changes:
            key = self._owners.remove(uid) if found is None else self._owners.put(kind, uid, found.metadata)
            for pod in self._owners.list_pods(key) if key is not None else ():
                self._refer(pod, self._claimants[pod])
                self._moved[pod] = self._regrouped[pod] = None

    # --- pods ----------------------------------------------------------------------------------------------

    def assign_quota(self, uid: str, pod: Pod) -> NamedQuota:
        """Add or update a pod; return its quota, and why the pod has to wait for its queue, if it has to."""
        if self._unread:
            self.settle()
        claimant = read_claimant(pod, self._enforced)
        if self._claimants.get(uid) != claimant:
            self._refer(uid, claimant)
        return self.resolve(uid)

    def _list_priorities(self) -> Mapping[str, int]:
        shelf = self._shelves.get("kueue")
        return shelf.priorities if isinstance(shelf, KueueQueues) else {}

    def find_gang(self, uid: str, pod: Pod) -> Membership | None:
        """Return the gang of a pod in a Kueue queue: by Kueue's labels, else the workload; None for other pods."""
        self.assign_quota(uid, pod)
        reference = self._references.get(uid)
        if reference is None or reference.source not in BY_OWNER:
            return None
        group = kueue_group(pod)
        if group is not None:
            return group
        found = self.find_workload(uid)
        if found is None:
            return None
        part = pod.metadata.labels.get(GROUP_INDEX, "") if found.kind == "LeaderWorkerSet" else ""
        return Membership(ObjectKey(found.kind, found.namespace, found.name), part, whole=True)

    def find_workload(self, uid: str) -> OwnerKey | None:
        """Return a pod's topmost owner that names a queue and whose pods are admitted together; None for none."""
        claimant, found = self._claimants.get(uid), None
        if claimant is None:
            return None
        for key, owner in self._owners.iter_above(claimant.namespace, claimant.controller):
            if owner is not None and owner.queue and key.kind in GANG_KINDS:
                found = key
        return found

    def list_owned(self, owner: OwnerKey) -> list[str]:
        """Return the uids of the pods that an object owns, directly or not."""
        return self._owners.list_pods(owner)

    def allows_eviction(self, preemptor: str, victim: str, above: int) -> bool:
        """Return whether preemption policies allow pods of quota ``preemptor`` to evict pods of quota ``victim``.

        Both quotas must be in one tree, and may be the same. ``above`` is the preemptor's priority minus the
        victim's. The solver also checks which quota has borrowed, and how much.
        """
        its, theirs = self.quotas.get(preemptor), self.quotas.get(victim)
        if its is None or theirs is None or self.find_root(its) != self.find_root(theirs):
            return False
        policies = its.preemption
        if preemptor == victim:
            return above >= (policies.within == LOWER_PRIORITY) and policies.within != NEVER
        if policies.reclaim == ANY:
            return True
        return above > 0 and LOWER_PRIORITY in (policies.reclaim, policies.borrow)

    def find_root(self, quota: QuotaNode) -> str:
        """Return the name of the root of the tree that a quota is in."""
        while (above := self.quotas.get(quota.parent)) is not None:
            quota = above
        return quota.name

    def find_topologies(self, uid: str) -> tuple[TopologyLevels, ...]:
        """Return the topologies of the flavors of a pod's queue, in the queue's order of flavors."""
        return self._topologies.get(self.resolve(uid).quota, ()) if self._topologies else ()

    def take_topology_change(self) -> bool:
        """Return whether the topologies of some pod's queue may have changed since the last call."""
        moved, self._topologies_moved = self._topologies_moved, False
        return moved

    def list_pods(self, reference: QueueReference) -> list[str]:
        """Return the uids of the pods that name a queue."""
        return list(self._pods.get(reference, ()))

    def list_references(self) -> dict[str, list[QueueReference]]:
        """Return the queue references that pods have, by name of the quota that each reference stands for."""
        found: dict[str, list[QueueReference]] = {}
        for reference in self._pods:
            found.setdefault(self._resolve(reference).quota, []).append(reference)
        return found

    def find_given(self, quota: str) -> GivenTolerations:
        """Return the tolerations that a quota's flavors give to the quota's pods, in addition to the pods' own."""
        found = self._given.get(quota)
        if found is None:
            found = self._given[quota] = list_given(self.quotas.get(quota), self._flavors)
        return found

    def find_ignored(self, quota: str) -> str:
        """Return a text that names the settings of a quota's object that this scheduler ignores.

        The text is "" if no setting is ignored.
        """
        return next(filter(None, (tree.ignored.get(quota, "") for tree in self.trees.values())), "")

    def find_object(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the kind and the object from which a quota was read; None if no object states it."""
        shelves = (self._shelves[source] for source in self._enforced if source in self._shelves)
        return next((found for shelf in shelves if (found := shelf.find(quota)) is not None), None)

    def list_local_queues(self, cluster_queue: str) -> list[LocalQueue]:
        """Return the LocalQueues of a ClusterQueue."""
        shelf = self._shelves.get("kueue")
        return shelf.local_queues.get(cluster_queue, []) if isinstance(shelf, KueueQueues) else []

    def forget_pod(self, uid: str) -> None:
        """Remove a pod; unknown pods are ignored."""
        self._leave(uid)
        self._owners.remove_pod(uid)
        self.priorities.forget(uid)
        self._claimants.pop(uid, None)
        self._moved.pop(uid, None)
        self._regrouped.pop(uid, None)

    def resolve(self, uid: str) -> NamedQuota:
        """Return the quota that a pod counts against, and why the pod has to wait for its queue, if it has to."""
        reference = self._references.get(uid)
        if reference is not None:
            found = self._resolve(reference)
            if not found.problem and (problem := self.priorities.explain_lack(uid)):
                return NamedQuota(found.quota, problem)
            return found
        lacking = self.find_lacking(uid) if self.follows_owners else None
        if lacking is None:
            return NOTHING
        namespace, kind, name = lacking
        return NamedQuota(
            "", f"queue: waits for {kind} {namespace}/{name}, which may name one and is not known yet"
        )

    def find_lacking(self, uid: str) -> OwnerKey | None:
        """Return an owner of a pod that may name a queue and is not known yet; None if all owners are known."""
        claimant = self._claimants.get(uid)
        if claimant is None or claimant.controller is None:
            return None
        above = self._owners.iter_above(claimant.namespace, claimant.controller)
        return next((key for key, owner in above if owner is None and key.kind in GANG_KINDS), None)

    def take_regrouped(self) -> list[str]:
        """Return the pods whose owners were found or changed since the last call, which may change their gangs."""
        regrouped, self._regrouped = self._regrouped, {}
        return [*regrouped]

    def _refer(self, uid: str, claimant: Claimant) -> None:
        self._leave(uid)
        self._claimants[uid] = claimant
        self._owners.put_pod(uid, claimant)
        reference = find_reference(claimant, self._enforced, self._owners)
        if reference is not None:
            self._references[uid] = reference
            self._pods[reference].add(uid)
            self.touched[reference] = None
            if reference.source in BY_OWNER:
                self.priorities.put(uid, find_priority_class(claimant, self._owners))

    def _leave(self, uid: str) -> None:
        self.priorities.put(uid, "")
        reference = self._references.pop(uid, None)
        if reference is not None:
            self.touched[reference] = None
            self._pods[reference].discard(uid)
            if not self._pods[reference]:
                del self._pods[reference]
                self._resolved.pop(reference, None)

    def _resolve(self, reference: QueueReference) -> NamedQuota:
        found = self._resolved.get(reference)
        if found is None:
            found = self._resolved[reference] = self._look_up(reference)
        return found

    def _look_up(self, reference: QueueReference) -> NamedQuota:
        labels = self._namespace_labels.get(reference.namespace, {})
        if reference.name:
            return self._shelves[reference.source].resolve(reference, labels)
        found = (
            self._shelves[source].resolve(reference, labels)
            for source in self._enforced
            if source in BY_NAMESPACE
        )
        return next((each for each in found if each != NOTHING), NOTHING)

    # --- effects of changes --------------------------------------------------------------------------------

    def settle(self) -> None:
        """Read the quotas of all projects whose objects or namespaces have changed since the last call."""
        unread, self._unread = self._unread, set()
        if not unread:
            return
        for source in unread:
            with self._quarantine.attempt("queues", source):
                self.trees[source] = self._shelves[source].read_quotas()
        self._set_records()
        ranked = self.priorities.take_found()
        self._moved.update(dict.fromkeys(ranked))
        self._regrouped.update(dict.fromkeys(ranked))
        former, self._resolved = self._resolved, {}
        given, self._given = self._given, {}
        for reference, before in former.items():
            now = self._resolve(reference)
            self._topologies_moved |= bool(self._topologies) and now.quota != before.quota
            if now != before or given.get(now.quota, ()) != self.find_given(now.quota):
                self._moved.update(dict.fromkeys(self._pods[reference]))

    def assume(self, quota: QuotaNode) -> None:
        """Replace the quota with the same name by this quota, until objects of its project change."""
        self.quotas = {**self.quotas, quota.name: quota}
        self._records.set_record(QUOTA_RECORD, quota.name, quota.payload())

    def take_moved(self) -> list[str]:
        """Return the pods whose queue has changed since the last call, or whose queue stands for another quota now."""
        moved, self._moved = self._moved, {}
        return [*moved]

    def list_remarks(self) -> Iterator[str]:
        """Yield a line of text about each queue that admits no pods, and about settings that have no effect."""
        for tree in self.trees.values():
            for quota in tree.quotas:
                if quota.problem:
                    yield f"{quota.name.replace('/', ' ')}: {quota.problem}"
            for name, text in tree.ignored.items():
                yield f"{name.replace('/', ' ')}: {text}"

    def _set_records(self) -> None:
        trees = [self.trees[source] for source in self._enforced if source in self.trees]
        quotas = {quota.name: quota for tree in trees for quota in tree.quotas}
        flavors = {flavor.name: flavor for tree in trees for flavor in tree.flavors}
        self._log_problems(quotas.values())
        for kind, former, now in (
            (FLAVOR_RECORD, self._flavors, flavors),
            (QUOTA_RECORD, self.quotas, quotas),
        ):
            for name in former.keys() - now.keys():
                self._records.set_record(kind, name, None)
            for name, each in now.items():
                if former.get(name) != each:
                    self._records.set_record(kind, name, each.payload())
        self._flavors, self.quotas = flavors, quotas
        topologies = dict(iterate_topologies(quotas.values(), flavors))
        self._topologies_moved |= topologies != self._topologies
        self._topologies = topologies

    def _log_problems(self, quotas: Iterable[QuotaNode]) -> None:
        for quota in quotas:
            former = self.quotas.get(quota.name)
            if quota.problem and (former is None or former.problem != quota.problem):
                _log.warning('queue admits nothing name=%s problem="%s"', quota.name, quota.problem)
