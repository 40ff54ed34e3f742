"""Reads which queue a pod or one of its owners names, by the labels and annotations of each project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from poseidon.custom_records import NameIndex
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pods import Pod
from poseidon.queues.options import QueueSource

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""Label of a pod or its owner: a LocalQueue of its namespace. Older versions of Kueue read it as an annotation."""

KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""Label of a pod or its owner: the WorkloadPriorityClass of its workload."""

VOLCANO_QUEUES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
"""Annotations, or labels, with the name of a queue of Volcano."""

KAI_QUEUES = ("kai.scheduler/queue", "runai/queue")
"""Labels with the name of a queue of KAI."""

KOORDINATOR_QUOTA = "quota.scheduling.koordinator.sh/name"
"""Label with the name of an ElasticQuota of Koordinator."""

_DEEPEST = 8
"""How many levels of owners are followed; a longer chain is taken for a circle."""


def read_kueue_queue(metadata: ObjectMeta) -> str:
    """Return the LocalQueue that an object itself names, "" for none."""
    return metadata.labels.get(KUEUE_QUEUE) or metadata.annotations.get(KUEUE_QUEUE, "")


def _read_volcano_queue(metadata: ObjectMeta) -> str:
    labels, annotations = metadata.labels, metadata.annotations
    found = (annotations.get(key) or labels.get(key, "") for key in VOLCANO_QUEUES)
    return next(filter(None, found), "")


def _read_kai_queue(metadata: ObjectMeta) -> str:
    return next(filter(None, (metadata.labels.get(key, "") for key in KAI_QUEUES)), "")


def _read_koordinator_quota(metadata: ObjectMeta) -> str:
    return metadata.labels.get(KOORDINATOR_QUOTA, "")


_READERS: Final[Mapping[QueueSource, Callable[[ObjectMeta], str]]] = MappingProxyType(
    {
        "kueue": read_kueue_queue,
        "volcano": _read_volcano_queue,
        "kai": _read_kai_queue,
        "koordinator": _read_koordinator_quota,
        "scheduler-plugins": lambda _: "",
    }
)
"""By project: reads from an object's metadata the queue that it names, "" for none."""

BY_OWNER: Final[frozenset[QueueSource]] = frozenset({"kueue"})
"""Projects in which a pod need not name a queue if one of its owners does."""

BY_NAMESPACE: Final[frozenset[QueueSource]] = frozenset({"koordinator", "scheduler-plugins"})
"""Projects in which a namespace may have one queue for all of its pods."""


GANG_KINDS: Final = frozenset(
    {
        "Job", "JobSet", "StatefulSet", "LeaderWorkerSet", "RayCluster", "RayJob", "PyTorchJob", "TFJob",
        "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob", "TrainJob", "SparkApplication", "AppWrapper",
    }
)  # fmt: skip
"""Kinds of owners whose pods are admitted together if the owner names a queue."""

SUSPENDABLE = frozenset(
    {
        "Job", "JobSet", "RayCluster", "RayJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob",
        "MPIJob", "SparkApplication",
    }
)  # fmt: skip
"""Kinds of objects that have no pods while they are suspended, and get them once they are resumed."""

WORKER_SET = "leaderworkerset.sigs.k8s.io/name"
"""Label with the name of a pod's LeaderWorkerSet."""

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
"""Label with the number of a pod's group in its LeaderWorkerSet: each group is admitted separately."""


class QueueReference(NamedTuple):
    """A queue that a pod names. ``name`` is "" where the pod's namespace determines the queue."""

    source: QueueSource
    namespace: str
    name: str


class OwnerKey(NamedTuple):
    """An object that may own pods."""

    namespace: str
    kind: str
    name: str


class Owner(NamedTuple):
    """The properties of an owner that determine the queue of its pods."""

    uid: str
    queue: str
    """The LocalQueue that the owner names, "" for none."""
    controller: OwnerReference | None
    priority_class: str = ""
    """The WorkloadPriorityClass that the owner names, "" for none."""


class Claimant(NamedTuple):
    """The properties of a pod that determine its queue."""

    namespace: str
    named: tuple[tuple[QueueSource, str], ...]
    """Queues that the pod itself names, by project."""
    controller: OwnerReference | None
    """The pod's owner; None if it has none, or if no project looks at owners."""
    priority_class: str = ""
    """The WorkloadPriorityClass that the pod itself names, "" for none."""


def read_claimant(pod: Pod, sources: tuple[QueueSource, ...]) -> Claimant:
    """Return the properties of a pod that decide on its queue in these projects."""
    metadata = pod.metadata
    named = tuple((source, name) for source in sources if (name := _READERS[source](metadata)))
    asks = any(source in BY_OWNER for source in sources)
    controller = read_controller(metadata) if asks else None
    priority_class = metadata.labels.get(KUEUE_PRIORITY, "") if asks else ""
    return Claimant(metadata.namespace or "default", named, controller, priority_class)


def read_controller(metadata: ObjectMeta) -> OwnerReference | None:
    """Return an object's controller; for a pod of a LeaderWorkerSet this set.

    The pod's own controller is a StatefulSet, of all leaders or of one group's workers, which names no queue.
    """
    name = metadata.labels.get(WORKER_SET, "")
    if name and metadata.controller() is not None:
        return OwnerReference(kind="LeaderWorkerSet", name=name)
    return metadata.controller()


class Owners:
    """Objects that own pods, by name. A late deletion of an object does not delete a newer one of the same name."""

    def __init__(self) -> None:
        self._owners: dict[OwnerKey, Owner] = {}
        self._names = NameIndex()

    def put(self, kind: str, uid: str, metadata: ObjectMeta) -> OwnerKey | None:
        """Add or update an object; return its key if its properties in ``Owner`` have changed, else None."""
        key = OwnerKey(metadata.namespace or "default", kind, metadata.name)
        stated = metadata.labels.get(KUEUE_PRIORITY, "")
        owner = Owner(metadata.uid, read_kueue_queue(metadata), metadata.controller(), stated)
        self._names.put(uid, "/".join(key))
        if self._owners.get(key) == owner:
            return None
        self._owners[key] = owner
        return key

    def remove(self, uid: str) -> OwnerKey | None:
        """Forget an object; return its key, None if it is unknown or a newer object has its name."""
        name = self._names.remove(uid)
        if not name:
            return None
        key = OwnerKey(*name.split("/"))
        del self._owners[key]
        return key

    def iter_above(
        self, namespace: str, controller: OwnerReference | None
    ) -> Iterator[tuple[OwnerKey, Owner | None]]:
        """Yield an object's controller, the controller's controller, and so on; the last ``Owner`` may be unknown."""
        for _ in range(_DEEPEST):
            if controller is None:
                return
            key = OwnerKey(namespace, controller.kind, controller.name)
            owner = self._owners.get(key)
            if owner is not None and controller.uid and owner.uid and owner.uid != controller.uid:
                owner = None  # a namesake
            yield key, owner
            controller = owner.controller if owner is not None else None


def find_reference(
    claimant: Claimant, sources: tuple[QueueSource, ...], owners: Owners
) -> QueueReference | None:
    """Return the queue of a pod in the first of ``sources`` that has one for the pod; None if no project has one.

    A queue that the pod or an owner names counts before the queue of the namespace.
    """
    namespace, named, controller, _ = claimant
    names = dict(named)
    if controller is not None:
        above = (owner.queue for _, owner in owners.iter_above(namespace, controller) if owner is not None)
        found = next(filter(None, above), "")
        names.update({source: found for source in BY_OWNER if found and source not in names})
    for source in sources:
        if source in names:
            return QueueReference(source, namespace, names[source])
    by_namespace = next((source for source in sources if source in BY_NAMESPACE), None)
    return QueueReference(by_namespace, namespace, "") if by_namespace is not None else None


def find_priority_class(claimant: Claimant, owners: Owners) -> str:
    """Return the WorkloadPriorityClass that a pod itself names, else the one that the topmost of its owners names.

    "" for none.
    """
    if claimant.priority_class or claimant.controller is None:
        return claimant.priority_class
    above = owners.iter_above(claimant.namespace, claimant.controller)
    named = [owner.priority_class for _, owner in above if owner is not None and owner.priority_class]
    return named[-1] if named else ""
