"""Reads RayCluster, RayJob and RayService (ray.io), whose pods are a head and groups of workers.

The pod that submits a RayJob's work is left out, because it is created only when the cluster is ready.
"""

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

_AUTOSCALER = {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "500m", "memory": "512Mi"}}
"""Requests of the autoscaler's container in the head pod, unless the cluster states others."""

_ENDED = frozenset({"Complete", "Failed", "Suspended", "SUCCEEDED", "FAILED", "STOPPED"})


def read_ray_cluster(value: Value, known: Known) -> Iterator[PodSet]:  # noqa: ARG001 - asked alike
    """Yield the head and the workers of a Ray cluster."""
    yield from _read_cluster(mapping(value, "spec"), name_of(value))


def read_ray_job(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the pods of the cluster that a RayJob starts, unless the input contains it or the job selects another."""
    spec = mapping(value, "spec")
    states = {text(value, "status", "jobDeploymentStatus"), text(value, "status", "jobStatus")}
    if find(spec, "suspend") is not True and not states & _ENDED and not is_over(value):
        yield from _unless_there(value, known, mapping(spec, "rayClusterSpec"))


def read_ray_service(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the pods of the cluster that a RayService runs on, unless the input contains that cluster."""
    yield from _unless_there(value, known, mapping(value, "spec", "rayClusterConfig"))


def _unless_there(value: Value, known: Known, cluster: Value) -> Iterator[PodSet]:
    owned = known.list_owned(namespace_of(value), (text(value, "kind"), name_of(value)))
    if cluster and not any(each.kind == "RayCluster" for each in owned):
        yield from _read_cluster(cluster, name_of(value))


def _read_cluster(spec: Value, name: str) -> Iterator[PodSet]:
    if find(spec, "suspend") is True:
        return
    head = mapping(spec, "headGroupSpec", "template")
    if head:
        autoscaled = find(spec, "enableInTreeAutoscaling") is True
        marks = _marks(name, "headgroup", "head")
        template = _add_autoscaler(head, spec) if autoscaled else head
        yield PodSet((f"{name}-head",), template, ("RayCluster", name), marks, _labels(name, "head"))
    for group in items(spec, "workerGroupSpecs"):
        if find(group, "suspend") is True:
            continue
        least = number(group, "minReplicas", default=0)
        replicas = max(number(group, "replicas", default=least), least)
        replicas = min(replicas, number(group, "maxReplicas", default=replicas))
        prefix = f"{name}-{text(group, 'groupName')}-worker"
        yield PodSet(
            number_names(prefix, replicas * number(group, "numOfHosts", default=1)),
            mapping(group, "template"),
            ("RayCluster", name),
            _marks(name, text(group, "groupName"), "worker"),
            _labels(name, "worker"),
        )


def _marks(name: str, group: str, kind: str) -> dict[str, str]:
    return {"ray.io/cluster": name, "ray.io/group": group, "ray.io/node-type": kind}


def _labels(name: str, kind: str) -> dict[str, str]:
    return {"ray.io/is-ray-node": "yes", "ray.io/identifier": f"{name}-{kind}"}


def _add_autoscaler(head: Value, spec: Value) -> Value:
    pod = mapping(head, "spec")
    resources = find(spec, "autoscalerOptions", "resources") or _AUTOSCALER
    autoscaler = {"name": "autoscaler", "resources": resources}
    return {**head, "spec": {**pod, "containers": [*items(pod, "containers"), autoscaler]}}
