"""Reads Kueue's Workload, which copies the pod sets of a waiting job, for inputs that lack that job."""

from __future__ import annotations

from collections.abc import Iterator

from poseidon.manifests.workloads.common.fields import (
    Value,
    find,
    is_over,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names


def read_workload(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the pod sets of a Workload, unless the input contains the Workload's job."""
    name, namespace, spec = name_of(value), namespace_of(value), mapping(value, "spec")
    owner = next(iter(known.owners_of(namespace, ("Workload", name))), None)
    if is_over(value) or find(spec, "active") is False:
        return
    if owner is not None and known.get(namespace, *owner) is not None:
        return
    for pods in items(spec, "podSets"):
        part = text(pods, "name", default="main")
        yield PodSet(
            names=number_names(f"{name}-{part}", number(pods, "count", default=1)),
            template=mapping(pods, "template"),
            owner=owner or ("Workload", name),
            marks={"kueue.x-k8s.io/podset": part, "kueue.x-k8s.io/workload": name},
            once=True,
        )
