"""Reads which queue a pod or one of its owners names, by the labels and annotations of each project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pods import Pod
from poseidon.queues.options import QueueSource

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
"""The label of a pod or its owner that names a LocalQueue; older versions of Kueue read it as an annotation."""

KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
"""The label of a pod or its owner that names the WorkloadPriorityClass of the workload."""

VOLCANO_QUEUES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
"""Annotations, or labels, with the name of a queue of Volcano."""

KAI_QUEUES = ("kai.scheduler/queue", "runai/queue")
"""Labels with the name of a queue of KAI."""

KOORDINATOR_QUOTA = "quota.scheduling.koordinator.sh/name"
"""Label with the name of an ElasticQuota of Koordinator."""


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
"""The function of each project that returns the queue that an object's metadata names, "" for none."""

BY_OWNER: Final[frozenset[QueueSource]] = frozenset({"kueue"})
"""The projects in which a pod is also in the queue that one of its owners names."""

BY_NAMESPACE: Final[frozenset[QueueSource]] = frozenset({"koordinator", "scheduler-plugins"})
"""The projects in which a namespace may have one queue for all its pods."""


GANG_KINDS: Final = frozenset(
    {
        "Job", "JobSet", "StatefulSet", "LeaderWorkerSet", "RayCluster", "RayJob", "PyTorchJob", "TFJob",
        "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob", "TrainJob", "SparkApplication", "AppWrapper",
    }
)  # fmt: skip
"""The kinds of owners whose pods are admitted together if the owner names a queue."""

SUSPENDABLE = frozenset(
    {
        "Job", "JobSet", "RayCluster", "RayJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob",
        "MPIJob", "SparkApplication",
    }
)  # fmt: skip
"""Kinds of objects that have no pods while they are suspended, and get pods once they are resumed."""

WORKER_SET = "leaderworkerset.sigs.k8s.io/name"
"""Label with the name of a pod's LeaderWorkerSet."""

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
"""Label with the number of a pod's group in its LeaderWorkerSet: each group is admitted separately."""


class QueueReference(NamedTuple):
    """The queue that a pod names; ``name`` is "" where the pod's namespace determines the queue."""

    source: QueueSource
    namespace: str
    name: str


class Claimant(NamedTuple):
    """The properties of a pod that determine its queue."""

    namespace: str
    named: tuple[tuple[QueueSource, str], ...]
    """Queues that the pod itself names, by project."""
    controller: OwnerReference | None
    """The pod's owner; None if the pod has none, or if no project reads queues from owners."""
    priority_class: str = ""
    """The WorkloadPriorityClass that the pod itself names, "" for none."""


def read_claimant(pod: Pod, sources: tuple[QueueSource, ...]) -> Claimant:
    """Return the properties of a pod that determine its queue in these projects."""
    metadata = pod.metadata
    named = tuple((source, name) for source in sources if (name := _READERS[source](metadata)))
    asks = any(source in BY_OWNER for source in sources)
    controller = read_controller(metadata) if asks else None
    priority_class = metadata.labels.get(KUEUE_PRIORITY, "") if asks else ""
    return Claimant(metadata.namespace or "default", named, controller, priority_class)


def read_controller(metadata: ObjectMeta) -> OwnerReference | None:
    """Return an object's controller; for a pod of a LeaderWorkerSet, return the LeaderWorkerSet.

    The pod's own controller is a StatefulSet, of all leaders or of one group's workers, which names no queue.
    """
    name = metadata.labels.get(WORKER_SET, "")
    if name and metadata.controller() is not None:
        return OwnerReference(kind="LeaderWorkerSet", name=name)
    return metadata.controller()
