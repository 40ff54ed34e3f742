"""What an input says of groups in vain, what it lacks of them, and the sizes of workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.api.pod_groups import NativePodGroup, ScaledOwner, ScaleSpec, ScaleStatus
from poseidon.kube.api.workloads import DaemonSet, Job, ReplicaWorkload
from poseidon.manifests.missing import listed, printed_by
from poseidon.pod_groups.demands import ignored_by_native
from poseidon.pod_groups.membership import NATIVE_POD_GROUP, POD_GROUP, TOPOLOGY_GROUP, WORKLOAD

_RESOURCES = {
    POD_GROUP: "podgroups.scheduling.x-k8s.io",
    NATIVE_POD_GROUP: "podgroups.scheduling.k8s.io",
    WORKLOAD: "workloads.scheduling.k8s.io",
    TOPOLOGY_GROUP: "configmaps",
}

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.kube.api.core import KubeStruct
    from poseidon.pod_groups.groups import Groups


def not_honoured(objects: Iterable[KubeStruct]) -> list[str]:
    """Return a line for people per group that asks for what it does not get."""
    return [
        f"PodGroup {each.metadata.namespace or 'default'}/{each.metadata.name}: {ignored}"
        for each in objects
        if isinstance(each, NativePodGroup) and (ignored := ignored_by_native(each))
    ]


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


def missing_groups(groups: Groups) -> Iterator[str]:
    """Yield a line for people per kind of which objects are not known that say how many pods go together."""
    missing: dict[str, dict[str, None]] = {}
    for group in groups:
        if groups.demand(group) is None:
            source = group.member.source
            missing.setdefault(source.kind, {})[f"{source.namespace}/{source.name}"] = None
    for kind, names in sorted(missing.items()):
        what = "the ConfigMap of topology group" if kind == TOPOLOGY_GROUP else kind.split()[0]
        remedy = printed_by(_RESOURCES.get(kind, f"{kind.lower()}s"))
        be = "is" if len(names) == 1 else "are"
        yield f"{what} {listed(sorted(names))} {be} not in the input, so its pods wait; {remedy}"
