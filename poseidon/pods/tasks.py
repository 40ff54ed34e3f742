"""A Pod becomes a task, or says why it is none at present."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from poseidon.kube.parsing.times import seconds
from poseidon.pods.identities import OWNER, identity
from poseidon.pods.priority import NEVER, UnknownPriorityClassError
from poseidon.pods.requests.resizes import as_counted
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.kube.api.core import ObjectMeta, Pod
    from poseidon.pods.classes import ClassTable, Traits
    from poseidon.pods.priority import PriorityResolver

GATED_REASON = "Scheduling is blocked due to non-empty scheduling gates"
"""kube-scheduler's words for a pod with scheduling gates."""

DEFAULT_SCHEDULER = "default-scheduler"


class Disposition(Enum):
    """What a scheduler has to do with a pod."""

    FINISHED = "finished"  # Succeeded or Failed: holds nothing, wherever it ran
    BOUND = "bound"  # counts on its node
    TERMINATING = "terminating"  # being deleted before it was ever bound
    GATED = "gated"  # waits for its gates, not for a node
    PENDING = "pending"  # wants a node


class Task(Struct, frozen=True, gc=False):
    """A pod in the terms of the protocol. ``job`` is the owner's id, "" for a pod that owns itself.

    ``priority`` is the value of its PriorityClass, whatever its group says; ``group_priority`` orders its group among
    others of equal ``priority``, None for a pod that is in no group with an order.

    ``scheduled`` and ``initialized`` are the times of these conditions of a pod, in seconds since the epoch, 0 for not
    yet and where no model looks at them. ``spread`` is the group that default spread keeps apart, "" for none. There is
    one per pod, and nothing in it refers back to it (``gc=False``).
    """

    uid: str
    name: str
    traits: Traits
    job: str
    priority: int
    created: float
    scheduled: float = 0.0
    initialized: float = 0.0
    group_priority: int | None = None
    spread: str = ""

    @property
    def task_class(self) -> int:
        """The number of its class at present, see ``ClassTable.refresh``."""
        return self.traits.task_class


def disposition(pod: Pod) -> Disposition:
    """Classify a pod by how far it has come."""
    if pod.terminal:
        return Disposition.FINISHED
    if pod.spec.node_name:
        return Disposition.BOUND
    if pod.metadata.deletion_timestamp is not None:
        return Disposition.TERMINATING
    return Disposition.GATED if pod.spec.scheduling_gates else Disposition.PENDING


def task(pod: Pod, classes: ClassTable, priorities: PriorityResolver) -> Task:
    """Translate a pod, registering its class.

    A PriorityClass that does not exist (deleted since admission, or never there) counts as priority 0.
    """
    metadata, pod = pod.metadata, as_counted(pod)
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
        name=qualified_name(metadata),
        traits=classes.traits(pod, priority=priority),
        job=job_id(metadata),
        priority=priority,
        # The protocol counts from 1970; whatever claims to be older is simply among the oldest.
        created=max(time or 0.0, 0.0),
        scheduled=_since(pod, "PodScheduled") if timed else 0.0,
        initialized=_since(pod, "Initialized") if timed else 0.0,
    )


def _since(pod: Pod, kind: str) -> float:
    """Return since when a condition is True, 0 if it is not, or does not say."""
    condition = pod.condition(kind)
    if condition is None or condition.status != "True":
        return 0.0
    return max(seconds(condition.last_transition_time) or 0.0, 0.0)


def scheduler_of(pod: Pod) -> str:
    """Return the name of the scheduler that is meant to bind the pod."""
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


def qualified_name(metadata: ObjectMeta) -> str:
    """Return ``namespace/name``."""
    return f"{metadata.namespace or 'default'}/{metadata.name}"


def job_id(metadata: ObjectMeta) -> str:
    """Return the id of the job that an object's controller makes of its objects, "" without a controller.

    A reference to an owner is what somebody wrote: it means nothing outside the object's own namespace, whatever uid it
    names, and never a group.
    """
    owner = metadata.controller()
    if owner is None:
        return ""
    of_kind = metadata.namespace or "default", owner.kind, owner.name
    return identity(OWNER, *of_kind, owner.uid) if owner.uid else identity(OWNER, *of_kind)


def job(metadata: ObjectMeta) -> pb.Job | None:
    """Return the job that a pod belongs to, None for a pod that owns itself."""
    owner = metadata.controller()
    if owner is None:
        return None
    namespace = metadata.namespace or "default"
    return pb.Job(id=job_id(metadata), name=f"{namespace}/{owner.kind}/{owner.name}", namespace=namespace)
