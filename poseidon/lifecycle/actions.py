"""What the state asks the process to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from poseidon.kube.api.references import ObjectRef, PodRef
    from poseidon.kube.write.claim_writer import ClaimWrite
    from poseidon.kube.write.patch_writer import GroupConditionWrite, GroupStatusWrite, LabelWrite, MapWrite


class Bind(NamedTuple):
    """Post a binding."""

    pod: PodRef
    node: str


class AnnounceScheduled(NamedTuple):
    """Write the event that a pod has been bound."""

    pod: PodRef
    node: str


class AnnounceUnschedulable(NamedTuple):
    """Write event and condition about a pod that stays pending.

    ``was_unschedulable``: its condition says so already, and only the message is new. ``undecided``: no solver has
    looked at it, so that more nodes need not help; autoscalers are to leave it alone.
    """

    pod: PodRef
    message: str
    was_unschedulable: bool
    undecided: bool = False


class WriteClaim(NamedTuple):
    """Write what begins the binding of a claim."""

    write: ClaimWrite


class Evict(NamedTuple):
    """Have a pod on ``node`` make way; ``beyond_budget``: also where a disruption budget forbids it."""

    pod: PodRef
    node: str
    beyond_budget: bool
    message: str


class WithdrawEviction(NamedTuple):
    """Let a pod (uid) stay after all, if its eviction has not been carried out yet."""

    uid: str


class AnnouncePreempted(NamedTuple):
    """Write the event that a pod has to make way."""

    pod: PodRef
    message: str


class Nominate(NamedTuple):
    """Write on which node pods make way for a pod, "" for none."""

    pod: PodRef
    node: str


class WriteGroupStatus(NamedTuple):
    """Write the status of a PodGroup."""

    write: GroupStatusWrite


class WriteGroupCondition(NamedTuple):
    """Write a condition of a PodGroup of Kubernetes itself."""

    write: GroupConditionWrite


class AnnounceGroup(NamedTuple):
    """Write an event about a group on the object that describes it."""

    group: ObjectRef
    reason: str
    message: str


class WriteGroupMap(NamedTuple):
    """Write what is new about a topology group, or about the tree, into its ConfigMap."""

    write: MapWrite


class WriteMemberLabels(NamedTuple):
    """Write what is new about a member of a topology group as labels of the pod."""

    write: LabelWrite


class AnnounceRefused(NamedTuple):
    """Write the event that a kubelet refused a pod; ``reason`` is the kubelet's."""

    pod: PodRef
    reason: str
    message: str


class RecreateRefused(NamedTuple):
    """Create a refused pod again under its name after ``delay`` seconds, for the ``times``-th time."""

    pod: PodRef
    times: int
    delay: float


class DeleteRefused(NamedTuple):
    """Delete a refused pod that its controller has replaced."""

    pod: PodRef


Recovery: TypeAlias = AnnounceRefused | RecreateRefused | DeleteRefused
Grouped: TypeAlias = (
    WriteGroupStatus | WriteGroupCondition | AnnounceGroup | WriteGroupMap | WriteMemberLabels
)
Batch: TypeAlias = Evict | WithdrawEviction | AnnouncePreempted | Nominate | Grouped
Action: TypeAlias = Bind | AnnounceScheduled | AnnounceUnschedulable | WriteClaim | Recovery | Batch
