"""Short-hand for groups and their pods."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_groups import (
    GangPolicy,
    GroupPolicy,
    NativePodGroup,
    NativePodGroupSpec,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    ScaledOwner,
    ScaleSpec,
    ScaleStatus,
    Workload,
    WorkloadPodGroup,
    WorkloadSpec,
)
from poseidon.kube.api.pods import SchedulingGroup, WorkloadReference
from tests.poseidon.bridge import objects

LABEL = "scheduling.x-k8s.io/pod-group"
ANNOTATION = "firmament-gang-scheduling"


def pod_group(name, members, *, seconds=None, uid=None, status=None):
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="default", uid=uid or f"group-{name}"),
        spec=PodGroupSpec(min_member=members, schedule_timeout_seconds=seconds),
        status=status or PodGroupStatus(),
    )


def workload(name, **groups):
    parts = tuple(
        WorkloadPodGroup(each, GroupPolicy() if count is None else GroupPolicy(GangPolicy(count)))
        for each, count in groups.items()
    )
    return Workload(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"workload-{name}"), spec=WorkloadSpec(parts)
    )


def native(name, count):
    return NativePodGroup(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"native-{name}"),
        spec=NativePodGroupSpec(GroupPolicy(GangPolicy(count))),
    )


def owner(name, *, succeeded=0, **scale):
    return ScaledOwner(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"),
        spec=ScaleSpec(**scale),
        status=ScaleStatus(succeeded),
    )


def pod(name, *, group="", workload=None, native="", share=None, **more):
    """A pod of ours; ``workload`` is (name, group, replica key)."""
    made = objects.pod(name, **more)
    metadata, spec = made.metadata, made.spec
    if group:
        metadata = replace(metadata, labels={LABEL: group})
    if share is not None:
        metadata = replace(metadata, annotations={ANNOTATION: share})
    if workload is not None:
        spec = replace(spec, workload_ref=WorkloadReference(*workload))
    if native:
        spec = replace(spec, scheduling_group=SchedulingGroup(native))
    return replace(made, metadata=metadata, spec=spec)
