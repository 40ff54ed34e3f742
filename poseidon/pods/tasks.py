"""Translates a Pod into a task, or says why it is no task at present."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta, seconds
from poseidon.kube.api.pods import Container, Pod, PodSpec, PodStatus
from poseidon.pods.class_keys import Traits
from poseidon.pods.classes import ClassTable
from poseidon.pods.priority_classes import PriorityResolver, UnknownPriorityClassError
from poseidon.pods.resizes import as_counted
from poseidon.pods.scheduling_gates import is_gated
from poseidon.pods.templates import NEVER
from protos.firmament.v1 import scheduler_pb2 as pb

DEFAULT_SCHEDULER = "default-scheduler"

OWNER = "Owner"
"""First part of the id of a job that consists of an owner's pods. Ids of groups begin with the group's kind."""

LONGEST = 1000
"""Longest id in characters; solvers accept up to 1,024."""


class Disposition(Enum):
    """What a scheduler still has to do for a pod."""

    FINISHED = "finished"  # Succeeded or Failed: uses no resources any more
    BOUND = "bound"  # has a node, and uses resources there
    TERMINATING = "terminating"  # being deleted before it was ever bound
    GATED = "gated"  # waits until its scheduling gates are removed
    PENDING = "pending"  # waits for a node


class Task(Struct, frozen=True, gc=False):
    """A pod as a task of the protocol.

    It contains no reference to itself, so Python's garbage collector need not track it (``gc=False``).
    """

    uid: str
    """Uid of the pod."""
    name: str
    """The pod's name, ``namespace/name``."""
    traits: Traits
    """The properties that distinguish the pod from others."""
    job: str
    """Id of the job to which the task belongs, "" if it belongs to none."""
    priority: int
    """Value of the task's PriorityClass, independent of the priority of its group."""
    created: float
    """The time when the pod was created, in seconds since the epoch."""
    scheduled: float = 0.0
    """When the pod was scheduled, in seconds since the epoch; 0 for not yet.

    If no cost model reads this time, it is set only for pods that had a node when the bridge started; among equal
    victims, the youngest is evicted.
    """
    initialized: float = 0.0
    """The time when the pod was initialized, in seconds since the epoch, 0 for not yet."""
    group_priority: int | None = None
    """Priority of the pod's group, which decides between pods of equal ``priority``; None without a group."""
    spread: str = ""
    """Name of the group of pods that the default spread distributes over nodes, "" for none."""

    @property
    def task_class(self) -> int:
        """The number of its class at present, see ``ClassTable.refresh``."""
        return self.traits.task_class


def classify_pod(pod: Pod) -> Disposition:
    """Return whether a pod is finished, bound, terminating, gated, or to be placed."""
    if pod.terminal:
        return Disposition.FINISHED
    if pod.spec.node_name:
        return Disposition.BOUND
    if pod.metadata.deletion_timestamp is not None:
        return Disposition.TERMINATING
    return Disposition.GATED if pod.spec.scheduling_gates and is_gated(pod) else Disposition.PENDING


def translate_pod(pod: Pod, classes: ClassTable, priorities: PriorityResolver) -> Task:
    """Return the task of a pod, and register its class.

    A PriorityClass that does not exist counts as priority 0.
    """
    metadata, status = pod.metadata, pod.status
    if status.container_statuses or status.init_container_statuses or status.resources:
        pod = as_counted(pod)
    if not pod.spec.preemption_policy and priorities.never_preempts(pod.spec):
        pod = replace(pod, spec=replace(pod.spec, preemption_policy=NEVER))
    try:
        priority = priorities.priority(pod.spec)
    except UnknownPriorityClassError:
        priority = 0
    time = seconds(metadata.creation_timestamp)
    timed = classes.visibility.timed
    return Task(
        uid=metadata.uid,
        name=get_qualified_name(metadata),
        traits=classes.traits(pod, priority=priority),
        job=job_id(metadata),
        priority=priority,
        # The protocol's times begin in 1970: a pod with an earlier creation time counts as created in 1970.
        created=max(time or 0.0, 0.0),
        scheduled=(_since(pod, "PodScheduled") if timed else 0.0) or _read_start(pod),
        initialized=_since(pod, "Initialized") if timed else 0.0,
    )


def _read_start(pod: Pod) -> float:
    """Return when a pod on a node started, as in kube-scheduler's GetPodStartTime for preemption; 0 if unknown."""
    if not pod.spec.node_name:
        return 0.0
    return max(seconds(pod.status.start_time) or 0.0, 0.0) or _since(pod, "PodScheduled")


def _since(pod: Pod, kind: str) -> float:
    """Return since when a condition is True, in seconds since the epoch; 0 if it is not True or states no time."""
    condition = pod.condition(kind)
    if condition is None or condition.status != "True":
        return 0.0
    return max(seconds(condition.last_transition_time) or 0.0, 0.0)


def scheduler_of(pod: Pod) -> str:
    """Return the name of the scheduler that is to bind the pod."""
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


def get_qualified_name(metadata: ObjectMeta) -> str:
    """Return ``namespace/name`` of an object."""
    return f"{metadata.namespace or 'default'}/{metadata.name}"


def job_id(metadata: ObjectMeta) -> str:
    """Return the id of the job that consists of the pods of this object's controller, "" without a controller.

    Anybody may write an owner reference. The id therefore refers only to owners in the object's own namespace,
    whatever uid the reference states, and never to a group.
    """
    owner = metadata.controller()
    if owner is None:
        return ""
    of_kind = metadata.namespace or "default", owner.kind, owner.name
    return join_parts(OWNER, *of_kind, owner.uid) if owner.uid else join_parts(OWNER, *of_kind)


def job(metadata: ObjectMeta) -> pb.Job | None:
    """Return the job that a pod belongs to, None for a pod without controller."""
    owner = metadata.controller()
    if owner is None:
        return None
    namespace = metadata.namespace or "default"
    return pb.Job(id=job_id(metadata), name=f"{namespace}/{owner.kind}/{owner.name}", namespace=namespace)


def join_parts(*parts: str) -> str:
    """Return one text for ``parts``, such as ``a/b/c``; slashes within a part are escaped.

    Parts may be any text; different parts always give different results. If the result would be longer than
    ``LONGEST``, it consists of the first part and a digest.
    """
    text = "/".join([part if "/" not in part and "%" not in part else _escape(part) for part in parts])
    if len(text) <= LONGEST:
        return text
    return f"{_escape(parts[0])[: LONGEST // 2]}/{sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def parts_of(text: str) -> list[str]:
    """Return the parts of a text that ``join_parts`` made; the text must not have been shortened."""
    return [part.replace("%2F", "/").replace("%25", "%") for part in text.split("/")]


def _escape(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")


def workload_of(pod: Pod) -> str:
    """Return ``namespace/Kind/name`` of a pod's controller; ``namespace/name`` of the pod if it has none."""
    owner = pod.metadata.controller()
    if owner is None:
        return get_qualified_name(pod.metadata)
    return f"{pod.metadata.namespace or 'default'}/{owner.kind}/{owner.name}"


def reduce_pod(pod: Pod) -> Pod:
    """Return a pod reduced to its identity, its node and its resources, for pods that could not be handled."""
    metadata, spec = pod.metadata, pod.spec
    return Pod(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            deletion_timestamp=metadata.deletion_timestamp,
        ),
        spec=PodSpec(
            node_name=spec.node_name,
            scheduler_name=spec.scheduler_name,
            priority=spec.priority,
            priority_class_name=spec.priority_class_name,
            preemption_policy=spec.preemption_policy,
            containers=tuple(_resources_only(each) for each in spec.containers),
            init_containers=tuple(_resources_only(each) for each in spec.init_containers),
            overhead=spec.overhead,
            resources=spec.resources,
            scheduling_gates=spec.scheduling_gates,
        ),
        status=PodStatus(phase=pod.status.phase),
    )


def _resources_only(container: Container) -> Container:
    return Container(
        name=container.name, resources=container.resources, restart_policy=container.restart_policy
    )
