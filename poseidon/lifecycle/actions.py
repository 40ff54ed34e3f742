"""Defines the actions that the bridge's state asks its writers to carry out."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef, PodRef
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.patch_writer import (
    ConfigMapWrite,
    GroupConditionWrite,
    GroupStatusWrite,
    LabelWrite,
    NominatedNodeWrite,
    QueueStatusWrite,
)
from poseidon.kube.write.suspension_writer import SuspensionWrite
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode


class Bind(NamedTuple):
    """Post a binding. ``complained``: a report of why the pod was pending may not have been written yet."""

    pod: PodRef
    node: str
    complained: bool = False


class AnnounceScheduled(NamedTuple):
    """Write the event that a pod has been bound."""

    pod: PodRef
    node: str


class AnnounceUnschedulable(NamedTuple):
    """Write event and condition about a pod that stays pending.

    ``was_unschedulable``: the pod's condition already says that it is unschedulable; only the message is new.
    ``undecided``: whether no solver has looked at the pod yet; autoscalers must not add nodes for such a pod.
    """

    pod: PodRef
    message: str
    was_unschedulable: bool
    undecided: bool = False


class Evict(NamedTuple):
    """Evict a pod from ``node``; ``beyond_budget``: even if a disruption budget forbids it.

    ``together`` is a name shared by pods that must all leave or all stay, "" for a pod that may leave alone.
    """

    pod: PodRef
    node: str
    beyond_budget: bool
    message: str
    together: str = ""


class WithdrawEviction(NamedTuple):
    """Cancel the eviction of the pod with this uid, if the eviction has not been carried out yet."""

    uid: str


class AnnouncePreempted(NamedTuple):
    """Write the event that a pod is evicted for another pod."""

    pod: PodRef
    message: str


class AnnounceGroup(NamedTuple):
    """Write an event about a group on the object that describes it."""

    group: ObjectRef
    reason: EventReason
    message: str


class AnnounceRefused(NamedTuple):
    """Write the event that a kubelet refused a pod; ``reason`` is the kubelet's."""

    pod: PodRef
    reason: str
    message: str


class RecreateRefused(NamedTuple):
    """Create a refused pod again under its name after ``delay`` seconds; this is the ``times``-th time."""

    pod: PodRef
    times: int
    delay: float


class DeleteRefused(NamedTuple):
    """Delete a refused pod that its controller has replaced."""

    pod: PodRef


Action: TypeAlias = (
    Bind
    | AnnounceScheduled
    | AnnounceUnschedulable
    | Evict
    | WithdrawEviction
    | AnnouncePreempted
    | NominatedNodeWrite
    | AnnounceGroup
    | AnnounceRefused
    | RecreateRefused
    | DeleteRefused
    | SelectNode
    | GiveVolume
    | DeviceClaimWrite
    | GroupStatusWrite
    | GroupConditionWrite
    | ConfigMapWrite
    | LabelWrite
    | QueueStatusWrite
    | SuspensionWrite
)
"""All actions. Writes to claims, statuses, ConfigMaps, labels and suspended objects are actions themselves."""
