"""The groups of pods that an input describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.batch.groups import Groups
from poseidon.batch.membership import NATIVE_POD_GROUP, POD_GROUP, WORKLOAD
from poseidon.batch.sources import Source
from poseidon.kube.batch_objects import (
    NativePodGroup,
    PodGroup,
    ScaledOwner,
    ScaleSpec,
    ScaleStatus,
    Workload,
)
from poseidon.kube.workloads import DaemonSet, Job, ReplicaWorkload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.kube.objects import KubeStruct
    from poseidon.manifests.topology import DescribedTopology


def described_groups(
    objects: Iterable[KubeStruct],
    owners: Iterable[tuple[str, ScaledOwner]],
    topology: DescribedTopology,
) -> Groups:
    """Return groups that know the objects, and no pods yet."""
    groups = Groups()
    for name in topology.names:
        groups.put_described(*name, topology.maps.get(name))
    found: list[tuple[str, Source]] = [*owners]
    for each in objects:
        if isinstance(each, PodGroup):
            found.append((POD_GROUP, each))
        elif isinstance(each, Workload):
            found.append((WORKLOAD, each))
        elif isinstance(each, NativePodGroup):
            found.append((NATIVE_POD_GROUP, each))
    for kind, source in found:
        groups.put_source(kind, f"{kind} {source.metadata.namespace}/{source.metadata.name}", source)
    return groups


def scaled_owners(
    workloads: Iterable[tuple[str, ReplicaWorkload | DaemonSet | Job]],
) -> list[tuple[str, ScaledOwner]]:
    """Return the sizes of workloads with their kinds. DaemonSets are as large as their clusters, and left out."""
    owners = []
    for kind, each in workloads:
        if isinstance(each, Job):
            scale = ScaleSpec(parallelism=each.spec.parallelism, completions=each.spec.completions)
            owners.append((kind, ScaledOwner(each.metadata, scale, ScaleStatus(each.status.succeeded))))
        elif isinstance(each, ReplicaWorkload):
            owners.append((kind, ScaledOwner(each.metadata, ScaleSpec(replicas=each.spec.replicas))))
    return owners
