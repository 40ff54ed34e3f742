"""Keeps the queue objects of each project, reads them as trees of quotas, and finds the quota of a pod's queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from poseidon.kube.api import kinds
from poseidon.kube.api.kinds import WatchedKind
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.other_projects.kueue_topology import KueueTopology
from poseidon.kube.api.other_projects.queues import (
    ClusterQueue,
    Cohort,
    ElasticQuota,
    KaiQueue,
    KoordinatorQuota,
    LocalQueue,
    ResourceFlavor,
    VolcanoQueue,
    WorkloadPriorityClass,
)
from poseidon.kube.api.pod_rules import LabelSelector
from poseidon.kube.parsing.defects import shorten
from poseidon.pod_rules.label_selectors import matches_labels
from poseidon.pods.priority_classes import LOWEST
from poseidon.queues.elastic_quotas import (
    NAMESPACES,
    is_parent,
    list_namespaces,
    name_elastic_quota,
    name_koordinator_quota,
    read_elastic_quotas,
    read_koordinator,
)
from poseidon.queues.kueue import STOPPED, name_cluster_queue, read_kueue
from poseidon.queues.model import QuotaTrees
from poseidon.queues.options import QueueOptions, QueueSource
from poseidon.queues.queue_names import QueueReference
from poseidon.queues.volcano import name_kai_queue, name_volcano_queue, read_kai, read_volcano

T = TypeVar("T", bound=KubeStruct)


MOST_STATED = 1_000_000_000
"""The highest priority of a class, as in PriorityClasses of Kubernetes, which reserves higher ones for system pods."""


class NamedQuota(NamedTuple):
    """The quota for which a queue's name stands, "" for none, and why the queue's pods wait, "" if they do not."""

    quota: str = ""
    problem: str = ""


NOTHING = NamedQuota()


class QueueObjects:
    """The objects of a project by kind and uid; the deletion of an older object does not remove a newer namesake."""

    def __init__(self, kinds: tuple[WatchedKind, ...]) -> None:
        self.kinds = kinds
        """The kinds of the objects."""
        self._uids: dict[WatchedKind, dict[str, str]] = {kind: {} for kind in kinds}
        self._found: dict[WatchedKind, dict[str, Any]] = {kind: {} for kind in kinds}

    def put(self, kind: WatchedKind, uid: str, found: KubeStruct) -> None:
        """Add or update an object."""
        self._found[kind][uid] = found
        metadata: ObjectMeta = found.metadata  # type: ignore[attr-defined]  # every kind has it
        names = self._uids[kind]
        names[metadata.name] = names[f"{metadata.namespace}/{metadata.name}"] = uid

    def remove(self, kind: WatchedKind, uid: str) -> None:
        """Remove an object."""
        self._found[kind].pop(uid, None)

    def find_named(self, kind: WatchedKind, prefix: str, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return kind and object of the quota ``prefix/name`` or ``prefix/namespace/name``.

        None if no object states this quota.
        """
        before, _, name = quota.partition("/")
        found = self._found[kind].get(self._uids[kind].get(name, "")) if before == prefix else None
        return (kind, found) if found is not None else None

    def by_name(self, kind: WatchedKind, struct: type[T]) -> dict[tuple[str, str], T]:
        """Return the objects of a kind by namespace and name.

        Of several objects with one name, the object added last.
        """
        found: dict[tuple[str, str], T] = {}
        for each in self._found[kind].values():
            assert isinstance(each, struct)
            metadata: ObjectMeta = each.metadata  # type: ignore[attr-defined]  # every kind has it
            found[metadata.namespace, metadata.name] = each
        return found


class ProjectQueues(Protocol):
    """The methods of a class that keeps the queue objects of one project and reads them as quotas."""

    @property
    def objects(self) -> QueueObjects:
        """The objects as they are now."""

    def read_quotas(self) -> QuotaTrees:
        """Return the quotas of the objects; call this after each change, before ``resolve``."""

    def resolve(self, reference: QueueReference, labels: Mapping[str, str]) -> NamedQuota:
        """Return the quota that a pod's queue reference stands for; ``labels``: those of the pod's namespace."""

    def find(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the object from which a quota was read, with its kind; None if no object states the quota."""


class KueueQueues:
    """The objects of Kueue: a pod names a LocalQueue of its namespace, which names a ClusterQueue."""

    KINDS = (
        kinds.TOPOLOGY,
        kinds.RESOURCE_FLAVOR,
        kinds.WORKLOAD_PRIORITY_CLASS,
        kinds.COHORT,
        kinds.CLUSTER_QUEUE,
        kinds.LOCAL_QUEUE,
    )

    def __init__(self, options: QueueOptions) -> None:
        self.objects = QueueObjects(self.KINDS)
        self._fair, self._strategies = options.fair_sharing, options.preemption_strategies
        self._pod_set_flavors = options.pod_set_flavors
        self._local: Mapping[tuple[str, str], LocalQueue] = {}
        self._queues: Mapping[tuple[str, str], ClusterQueue] = {}
        self.local_queues: dict[str, list[LocalQueue]] = {}
        """The LocalQueues of each ClusterQueue, by the ClusterQueue's name."""
        self.priorities: Mapping[str, int] = {}
        """The priorities of WorkloadPriorityClasses, by name."""

    def find(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the object from which a quota was read, with its kind; None if no object states the quota."""
        return self.objects.find_named(kinds.CLUSTER_QUEUE, "ClusterQueue", quota)

    def read_quotas(self) -> QuotaTrees:
        """Return the quotas of ClusterQueues and Cohorts."""
        self._local = self.objects.by_name(kinds.LOCAL_QUEUE, LocalQueue)
        self._queues = self.objects.by_name(kinds.CLUSTER_QUEUE, ClusterQueue)
        classes = self.objects.by_name(kinds.WORKLOAD_PRIORITY_CLASS, WorkloadPriorityClass)
        self.priorities = {
            name: min(max(each.value, LOWEST), MOST_STATED) for (_, name), each in classes.items()
        }
        self.local_queues = {}
        for each in self._local.values():
            self.local_queues.setdefault(each.spec.cluster_queue, []).append(each)
        return read_kueue(
            self._queues.values(),
            self.objects.by_name(kinds.COHORT, Cohort).values(),
            self.objects.by_name(kinds.RESOURCE_FLAVOR, ResourceFlavor).values(),
            self.objects.by_name(kinds.TOPOLOGY, KueueTopology).values(),
            fair=self._fair,
            strategies=self._strategies,
            pod_set_flavors=self._pod_set_flavors,
        )

    def resolve(self, reference: QueueReference, labels: Mapping[str, str]) -> NamedQuota:
        """Return the quota of the ClusterQueue that the pod's LocalQueue names."""
        where = f"LocalQueue {reference.namespace}/{shorten(reference.name)}"
        local = self._local.get((reference.namespace, reference.name))
        if local is None:
            return NamedQuota("", f"queue: {where} does not exist; create it, or name another one")
        name = local.spec.cluster_queue
        queue = self._queues.get(("", name))
        if queue is None:
            return NamedQuota("", f"queue: {where} names ClusterQueue {shorten(name)}, which does not exist")
        quota = name_cluster_queue(name)
        if local.spec.stop_policy in STOPPED:
            return NamedQuota(quota, f"queue: {where} is stopped")
        if not _selects(queue.spec.namespace_selector, labels):
            problem = f"ClusterQueue {name} does not take pods of namespace {reference.namespace}"
            return NamedQuota(quota, f"queue: {problem} (spec.namespaceSelector)")
        return NamedQuota(quota)


class VolcanoQueues:
    """The queues of Volcano, which pods of any namespace may name."""

    KINDS = (kinds.VOLCANO_QUEUE,)

    def __init__(self, options: QueueOptions) -> None:  # noqa: ARG002 - all shelves are made alike
        self.objects = QueueObjects(self.KINDS)
        self._names: frozenset[str] = frozenset()

    def find(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the object from which a quota was read, with its kind; None if no object states the quota."""
        return self.objects.find_named(kinds.VOLCANO_QUEUE, "VolcanoQueue", quota)

    def read_quotas(self) -> QuotaTrees:
        """Return the tree of queues."""
        found = self.objects.by_name(kinds.VOLCANO_QUEUE, VolcanoQueue)
        self._names = frozenset(name for _, name in found)
        return read_volcano(found.values())

    def resolve(self, reference: QueueReference, labels: Mapping[str, str]) -> NamedQuota:  # noqa: ARG002 - as others
        """Return the quota of the Volcano queue that the pod names."""
        name = reference.name
        if name in self._names:
            return NamedQuota(name_volcano_queue(name))
        if name == "default":  # The default queue has no limits if no object describes it.
            return NOTHING
        return NamedQuota(
            "", f"queue: Queue {shorten(name)} (Volcano) does not exist; create it, or name another one"
        )


class KaiQueues:
    """The queues of KAI, which pods of any namespace may name."""

    KINDS = (kinds.KAI_QUEUE,)

    def __init__(self, options: QueueOptions) -> None:  # noqa: ARG002 - all shelves are made alike
        self.objects = QueueObjects(self.KINDS)
        self._names: frozenset[str] = frozenset()
        self._parents: frozenset[str] = frozenset()

    def find(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the object from which a quota was read, with its kind; None if no object states the quota."""
        return self.objects.find_named(kinds.KAI_QUEUE, "KaiQueue", quota)

    def read_quotas(self) -> QuotaTrees:
        """Return the tree of queues."""
        found = self.objects.by_name(kinds.KAI_QUEUE, KaiQueue)
        self._names = frozenset(name for _, name in found)
        self._parents = frozenset(each.spec.parent_queue for each in found.values())
        return read_kai(found.values())

    def resolve(self, reference: QueueReference, labels: Mapping[str, str]) -> NamedQuota:  # noqa: ARG002 - as others
        """Return the quota of the KAI queue that the pod names; a queue with queues below it accepts no pods."""
        name = reference.name
        if name not in self._names:
            return NamedQuota(
                "", f"queue: Queue {shorten(name)} (KAI) does not exist; create it, or name another one"
            )
        if name in self._parents:
            problem = f"Queue {shorten(name)} (KAI) has queues below it; name one of these"
            return NamedQuota(name_kai_queue(name), f"queue: {problem}")
        return NamedQuota(name_kai_queue(name))


class ElasticQuotaQueues:
    """The ElasticQuotas of scheduler-plugins.

    The first ElasticQuota of a namespace, by name, is the quota of all pods in the namespace.
    """

    KINDS = (kinds.ELASTIC_QUOTA,)

    def __init__(self, options: QueueOptions) -> None:  # noqa: ARG002 - all shelves are made alike
        self.objects = QueueObjects(self.KINDS)
        self._of_namespace: Mapping[str, str] = {}

    def find(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the object from which a quota was read, with its kind; None if no object states the quota."""
        return self.objects.find_named(kinds.ELASTIC_QUOTA, "ElasticQuota", quota)

    def read_quotas(self) -> QuotaTrees:
        """Return the quotas of the ElasticQuotas, below one root whose amounts are their sum."""
        found = self.objects.by_name(kinds.ELASTIC_QUOTA, ElasticQuota)
        names = {key[0]: name_elastic_quota(found[key].metadata) for key in sorted(found, reverse=True)}
        self._of_namespace = names
        return read_elastic_quotas(found.values())

    def resolve(self, reference: QueueReference, labels: Mapping[str, str]) -> NamedQuota:  # noqa: ARG002 - as others
        """Return the quota of the pod's namespace; a namespace without ElasticQuota has no limit."""
        return NamedQuota(self._of_namespace.get(reference.namespace, ""))


class KoordinatorQueues:
    """The ElasticQuotas of Koordinator; a pod that names no quota counts against the quota of its namespace."""

    KINDS = (kinds.KOORDINATOR_QUOTA,)

    def __init__(self, options: QueueOptions) -> None:  # noqa: ARG002 - all shelves are made alike
        self.objects = QueueObjects(self.KINDS)
        self._quotas: Mapping[str, KoordinatorQuota] = {}
        self._of_namespace: Mapping[str, str] = {}

    def find(self, quota: str) -> tuple[WatchedKind, Any] | None:
        """Return the object from which a quota was read, with its kind; None if no object states the quota."""
        return self.objects.find_named(kinds.KOORDINATOR_QUOTA, "KoordinatorQuota", quota)

    def read_quotas(self) -> QuotaTrees:
        """Return the quotas of the ElasticQuotas, in one or several trees."""
        found = self.objects.by_name(kinds.KOORDINATOR_QUOTA, KoordinatorQuota)
        self._quotas = {name: found[namespace, name] for namespace, name in sorted(found)}
        own: dict[str, str] = {}
        for name, quota in self._quotas.items():
            if not is_parent(quota.metadata):
                for namespace in (*list_namespaces(quota.metadata), quota.metadata.namespace):
                    own.setdefault(namespace, name)
        self._of_namespace = own
        return read_koordinator(self._quotas.values())

    def resolve(self, reference: QueueReference, labels: Mapping[str, str]) -> NamedQuota:  # noqa: ARG002 - as others
        """Return the quota that the pod names, else the quota of the pod's namespace."""
        namespace, name = (
            reference.namespace,
            reference.name or self._of_namespace.get(reference.namespace, ""),
        )
        if not name:
            return NOTHING
        quota = self._quotas.get(name)
        where = f"queue: ElasticQuota {shorten(name)} (Koordinator)"
        if quota is None:
            return NamedQuota("", f"{where} does not exist; create it, or name another one")
        metadata = quota.metadata
        if namespace != metadata.namespace and namespace not in list_namespaces(metadata):
            return NamedQuota(
                "", f"{where} is not for namespace {namespace}; list it in its annotation {NAMESPACES}"
            )
        if is_parent(metadata):
            return NamedQuota(name_koordinator_quota(name), f"{where} has quotas below it; name one of these")
        return NamedQuota(name_koordinator_quota(name))


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    return selector is not None and matches_labels(selector, labels)


SHELVES: Final[Mapping[QueueSource, Callable[[QueueOptions], ProjectQueues]]] = MappingProxyType(
    {
        "kueue": KueueQueues,
        "volcano": VolcanoQueues,
        "kai": KaiQueues,
        "koordinator": KoordinatorQueues,
        "scheduler-plugins": ElasticQuotaQueues,
    }
)
"""The class that keeps and reads the queue objects of each project."""
