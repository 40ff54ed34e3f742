"""Which queue a pod names, in the words of each project, and the objects that own pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from poseidon.custom_records import NameIndex
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pods import Pod
from poseidon.queues.options import QueueSource

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""Label of a pod, or of the object that it belongs to: a LocalQueue of its namespace. Once it was an annotation."""

KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""Label of a pod, or of the object that it belongs to: the WorkloadPriorityClass of its workload."""

VOLCANO_QUEUES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
"""Annotations, or labels, with the name of a queue of Volcano."""

KAI_QUEUES = ("kai.scheduler/queue", "runai/queue")
"""Labels with the name of a queue of KAI."""

KOORDINATOR_QUOTA = "quota.scheduling.koordinator.sh/name"
"""Label with the name of an ElasticQuota of Koordinator."""

_DEEPEST = 8
"""Owners above one another that are looked at: more are a circle."""


def read_kueue_queue(metadata: ObjectMeta) -> str:
    """Return the LocalQueue that an object names itself, "" for none."""
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
"""By project, what reads from an object the queue that it is in."""

BY_OWNER: Final[frozenset[QueueSource]] = frozenset({"kueue"})
"""Projects whose queues may be named by a pod's owners alone."""

BY_NAMESPACE: Final[frozenset[QueueSource]] = frozenset({"koordinator", "scheduler-plugins"})
"""Projects in which a namespace may name one queue for all of its pods."""


GANG_KINDS: Final = frozenset(
    {
        "Job", "JobSet", "StatefulSet", "LeaderWorkerSet", "RayCluster", "RayJob", "PyTorchJob", "TFJob",
        "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob", "TrainJob", "SparkApplication", "AppWrapper",
    }
)  # fmt: skip
"""Kinds of owners whose pods are admitted as a whole if the owner as such is in a queue."""

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
"""Label with the number of a pod's group in its LeaderWorkerSet: each of these is admitted by itself."""


class QueueReference(NamedTuple):
    """A queue that a pod names. ``name`` is "" where the namespace alone says which queue it is."""

    source: QueueSource
    namespace: str
    name: str


class OwnerKey(NamedTuple):
    """An object that may own pods."""

    namespace: str
    kind: str
    name: str


class Owner(NamedTuple):
    """What counts of such an object."""

    uid: str
    queue: str
    """The LocalQueue that it names, "" for none."""
    controller: OwnerReference | None
    priority_class: str = ""
    """The WorkloadPriorityClass that it names, "" for none."""


class Claimant(NamedTuple):
    """What a pod says of queues."""

    namespace: str
    named: tuple[tuple[QueueSource, str], ...]
    """Queues that it names itself, by project."""
    controller: OwnerReference | None
    """Its owner, if it matters what queue that names."""
    priority_class: str = ""
    """The WorkloadPriorityClass that it names itself, "" for none."""


def read_claimant(pod: Pod, sources: tuple[QueueSource, ...]) -> Claimant:
    """Return what a pod says of the queues of some projects."""
    metadata = pod.metadata
    named = tuple((source, name) for source in sources if (name := _READERS[source](metadata)))
    asks = any(source in BY_OWNER for source in sources)
    controller = read_controller(metadata) if asks else None
    priority_class = metadata.labels.get(KUEUE_PRIORITY, "") if asks else ""
    return Claimant(metadata.namespace or "default", named, controller, priority_class)


def read_controller(metadata: ObjectMeta) -> OwnerReference | None:
    """Return who controls a pod. Of a LeaderWorkerSet pods bear the name: between it and a worker there is a pod."""
    name = metadata.labels.get(WORKER_SET, "")
    if name and metadata.controller() is not None:
        return OwnerReference(kind="LeaderWorkerSet", name=name)
    return metadata.controller()


class Owners:
    """Objects that own pods, by name. The late end of one does not end its namesake."""

    def __init__(self) -> None:
        self._owners: dict[OwnerKey, Owner] = {}
        self._names = NameIndex()

    def put(self, kind: str, uid: str, metadata: ObjectMeta) -> OwnerKey | None:
        """Take an object as it is now; returns its key if what counts of it has changed."""
        key = OwnerKey(metadata.namespace or "default", kind, metadata.name)
        stated = metadata.labels.get(KUEUE_PRIORITY, "")
        owner = Owner(metadata.uid, read_kueue_queue(metadata), metadata.controller(), stated)
        self._names.put(uid, "/".join(key))
        if self._owners.get(key) == owner:
            return None
        self._owners[key] = owner
        return key

    def remove(self, uid: str) -> OwnerKey | None:
        """Forget an object; returns its key, None if it is unknown or a namesake has replaced it."""
        name = self._names.remove(uid)
        if not name:
            return None
        key = OwnerKey(*name.split("/"))
        del self._owners[key]
        return key

    def iter_above(
        self, namespace: str, controller: OwnerReference | None
    ) -> Iterator[tuple[OwnerKey, Owner | None]]:
        """Yield an object's controller, who controls that one, and so on; the last may not be known."""
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
    """Return the queue of a pod, by the first project that has one for it; None if none has.

    A namespace's own queue counts last.
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
    """Return the WorkloadPriorityClass of a pod: the one that it names itself, else that of the highest of its owners.

    "" for none.
    """
    if claimant.priority_class or claimant.controller is None:
        return claimant.priority_class
    above = owners.iter_above(claimant.namespace, claimant.controller)
    named = [owner.priority_class for _, owner in above if owner is not None and owner.priority_class]
    return named[-1] if named else ""
