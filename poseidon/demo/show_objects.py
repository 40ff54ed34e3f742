"""Makes the objects for ``poseidon demo --ui``: batches, gangs, a shortage of GPUs, a pod that fits nowhere."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from poseidon.demo.workload import Workload

Object = dict[str, Any]

NAMESPACE = "show"
GPU = "nvidia.com/gpu"
GPUS_PER_NODE = 4
RUN_SECONDS = "simulated.poseidon.io/run-seconds"
"""Annotation that says after how many seconds a simulated kubelet ends the pod."""

_EVERY = 50
"""One in so many nodes has GPUs."""

POD_GROUPS: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
    "spec": {
        "group": "scheduling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "kind": "PodGroup"},
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}],
    },
}


def add_gpus(workload: Workload) -> Workload:
    """Return the workload with GPUs on some of its nodes, for the show's shortage."""
    nodes = tuple(
        copy.deepcopy(each) if place % _EVERY == 0 else each for place, each in enumerate(workload.nodes)
    )
    for node in nodes[::_EVERY]:
        status = node.setdefault("status", {})
        for amounts in (status.setdefault("capacity", {}), status.setdefault("allocatable", {})):
            amounts[GPU] = str(GPUS_PER_NODE)
    return replace(workload, nodes=nodes)


def count_gpus(nodes: int) -> int:
    """Return how many GPUs ``nodes`` nodes have together."""
    return GPUS_PER_NODE * -(-nodes // _EVERY)


def job_pods(
    name: str, count: int, requests: dict[str, str], *, seconds: float, group: str = "", **spec: Any
) -> Iterator[Object]:
    """Yield the pods of a Job, each of which runs for ``seconds``. ``group`` is the name of the pods' PodGroup."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
    labels = {"job-name": name} | ({"scheduling.x-k8s.io/pod-group": group} if group else {})
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number:03}",
                "namespace": NAMESPACE,
                "labels": labels,
                "annotations": {RUN_SECONDS: f"{seconds:g}"},
                "ownerReferences": [owner],
            },
            "spec": {
                "schedulerName": "poseidon",
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}],
                **spec,
            },
        }


def make_gang(name: str, members: int, *, seconds: float) -> Sequence[Object]:
    """Return a PodGroup that needs all of its pods, and these pods."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"minMember": members},
    }
    return [group, *job_pods(name, members, {"cpu": "200m", "memory": "128Mi"}, seconds=seconds, group=name)]


def make_shortage(name: str, gpus: int, *, seconds: float) -> Iterator[Object]:
    """Yield pods that request one GPU each; the cluster has fewer GPUs than such pods."""
    return job_pods(name, gpus + max(2, gpus // 3), {"cpu": "100m", GPU: "1"}, seconds=seconds)


def make_misfit() -> Object:
    """Return a pod that fits on no node, because no node has the label that it selects."""
    return next(job_pods("tape-archive", 1, {"cpu": "100m"}, seconds=60, nodeSelector={"disk": "tape"}))


def make_replacement(pod: Object, number: int) -> Object:
    """Return the pod that its controller would create in place of an evicted pod."""
    metadata, spec = pod["metadata"], dict(pod["spec"])
    spec.pop("nodeName", None)
    kept = {key: metadata[key] for key in ("namespace", "labels", "ownerReferences") if key in metadata}
    ends = metadata.get("annotations", {}).get(RUN_SECONDS)
    base = metadata["name"].partition("-again")[0]
    kept |= {"name": f"{base}-again{number}"} | ({"annotations": {RUN_SECONDS: ends}} if ends else {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}
