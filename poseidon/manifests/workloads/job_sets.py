"""Reads JobSet (jobset.x-k8s.io), and Kubeflow's TrainJob (trainer.kubeflow.org), whose controller creates a JobSet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from poseidon.manifests.warning_phrases import suggest_printing
from poseidon.manifests.workloads.common.fields import (
    NotKnownError,
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
from poseidon.manifests.workloads.common.pod_sets import Known, PodGroupObject, PodSet, number_names
from poseidon.manifests.workloads.exclusive_topology import give_own_domain, group_key
from poseidon.pod_groups.group_names import JOB_SET_DOMAIN

_PREFIX = "jobset.sigs.k8s.io"
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER = "trainer"
_NODE = "node"


def read_job_set(value: Value, known: Known) -> Iterator[PodSet]:  # noqa: ARG001 - every family is asked alike
    """Yield the pods of each Job of a JobSet: as many as run at the same time."""
    spec = mapping(value, "spec")
    if find(spec, "suspend") is True or is_over(value):
        return
    yield from _pods_of(spec, name_of(value), namespace_of(value), mapping(value, "metadata", "annotations"))


def _pods_of(spec: Value, name: str, namespace: str, annotations: Value) -> Iterator[PodSet]:
    for replicated in items(spec, "replicatedJobs"):
        part, job = text(replicated, "name"), mapping(replicated, "template", "spec")
        own = mapping(replicated, "template", "metadata", "annotations")
        topology = text({**annotations, **own}, JOB_SET_DOMAIN)
        parallel = number(job, "parallelism", default=1)
        pods = min(parallel, number(job, "completions", default=parallel))
        jobs = number(replicated, "replicas", default=1)
        if find(job, "suspend") is True:
            continue
        for index in range(jobs):
            job_name = f"{name}-{part}-{index}"
            key = group_key(namespace, job_name)
            yield PodSet(
                names=number_names(job_name, pods),
                template=give_own_domain(
                    mapping(job, "template"), topology, f"{_PREFIX}/job-key", key, all_namespaces=True
                ),
                owner=("Job", job_name),
                marks={
                    f"{_PREFIX}/jobset-name": name,
                    f"{_PREFIX}/replicatedjob-name": part,
                    f"{_PREFIX}/job-index": str(index),
                },
                labels={
                    f"{_PREFIX}/replicatedjob-replicas": str(jobs),
                    f"{_PREFIX}/job-key": key,
                    "batch.kubernetes.io/job-name": job_name,
                    "job-name": job_name,
                },
                annotations={JOB_SET_DOMAIN: topology} if topology else {},
                index_label="batch.kubernetes.io/job-completion-index",
                once=True,
            )


def read_train_job(value: Value, known: Known) -> Iterator[PodSet | PodGroupObject]:
    """Yield the pods of the JobSet that a TrainJob creates from its runtime, with its trainer's nodes and resources."""
    spec, name, namespace = mapping(value, "spec"), name_of(value), namespace_of(value)
    if find(spec, "suspend") is True or is_over(value) or known.get(namespace, "JobSet", name) is not None:
        return
    kind = text(spec, "runtimeRef", "kind", default="ClusterTrainingRuntime")
    of_cluster = kind == "ClusterTrainingRuntime"
    runtime_name = text(spec, "runtimeRef", "name")
    runtime = known.get("default" if of_cluster else namespace, kind, runtime_name)
    if runtime is None:
        remedy = suggest_printing(f"{kind.lower()}s", namespaced=not of_cluster)
        raise NotKnownError(f"spec.runtimeRef: {kind} {runtime_name} is not in the input; {remedy}")
    trainer, policy = mapping(spec, "trainer"), mapping(runtime, "spec", "mlPolicy")
    nodes = number(trainer, "numNodes", default=number(policy, "numNodes", default=1))
    made = mapping(runtime, "spec", "template", "spec")
    parts = [_adapt_to_trainer(each, trainer, nodes) for each in items(made, "replicatedJobs")]
    sets = list(_pods_of({"replicatedJobs": parts}, name, namespace, {}))
    if find(runtime, "spec", "podGroupPolicy", "coscheduling") is None:
        yield from sets
        return
    size = sum(len(each.names) for each in sets)
    yield PodGroupObject(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"minMember": size},
        }
    )
    for each in sets:
        yield PodSet(
            each.names,
            each.template,
            each.owner,
            each.marks,
            {**each.labels, "scheduling.x-k8s.io/pod-group": name},
            index_label=each.index_label,
            once=True,
        )


def _adapt_to_trainer(replicated: Value, trainer: Value, nodes: int) -> Value:
    """Return a runtime's replicated job with the TrainJob's settings; jobs other than the trainer stay unchanged."""
    template = mapping(replicated, "template")
    step = text(template, "metadata", "labels", _STEP, default="")
    if step != _TRAINER and not (not step and text(replicated, "name") == _NODE):
        return replicated
    job = mapping(template, "spec")
    pod = mapping(job, "template")
    spec = mapping(pod, "spec")
    resources = find(trainer, "resourcesPerNode")
    containers = [
        {**each, "resources": resources} if resources is not None and each.get("name") == _NODE else each
        for each in items(spec, "containers")
    ]
    changed: dict[str, Any] = {
        **job,
        "parallelism": nodes,
        "completions": nodes,
        "template": {**pod, "spec": {**spec, "containers": containers}},
    }
    return {**replicated, "template": {**template, "spec": changed}}
