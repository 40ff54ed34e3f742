"""Reads Volcano's Job (batch.volcano.sh): tasks that consist of pods.

``minAvailable`` of a Job's pods are placed together, or none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from poseidon.manifests.workloads.common.fields import (
    Value,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from poseidon.manifests.workloads.common.pod_sets import Known, PodGroupObject, PodSet, number_names
from poseidon.pod_groups.group_names import VOLCANO_TASK

PARTITION = "volcano.sh/partition-id"
"""Pod label whose value is the partition, within its task, to which the pod belongs."""
_GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
_ENDED = frozenset({"Completed", "Failed", "Aborted", "Aborting", "Terminated", "Terminating", "Completing"})


def read_volcano_job(value: Value, known: Known) -> Iterator[PodSet | PodGroupObject]:
    """Yield the pods of each task, and the PodGroup of the job."""
    name, namespace, spec = name_of(value), namespace_of(value), mapping(value, "spec")
    tasks = [
        (text(task, "name") or f"default{index}", task) for index, task in enumerate(items(spec, "tasks"))
    ]
    sizes = {task_name: number(task, "replicas", default=1) for task_name, task in tasks}
    if text(value, "status", "state", "phase") in _ENDED:
        return
    owned = known.list_owned(namespace, ("Job", name))
    group = next((each for each in owned if each.kind == "PodGroup"), None)
    group_name = name if group is None else name_of(group.value)
    if group is None:
        yield _make_group(spec, group_name, namespace, tasks, sizes)
    for task_name, task in tasks:
        template = mapping(task, "template")
        pod = dict(mapping(template, "spec"))
        pod.setdefault("schedulerName", text(spec, "schedulerName", default="volcano"))
        if text(spec, "priorityClassName"):
            pod.setdefault("priorityClassName", text(spec, "priorityClassName"))
        for first, count, partition in _list_parts(task, sizes[task_name]):
            yield PodSet(
                names=number_names(f"{name}-{task_name}", count, first),
                template={**template, "spec": pod},
                owner=("Job", name),
                marks={"volcano.sh/job-name": name, VOLCANO_TASK: task_name, **partition},
                labels={
                    "volcano.sh/job-namespace": namespace,
                    "volcano.sh/queue-name": text(spec, "queue", default="default"),
                },
                annotations={
                    _GROUP_ANNOTATION: group_name,
                    VOLCANO_TASK: task_name,
                    "volcano.sh/job-name": name,
                },
                index_label="volcano.sh/task-index",
                first_index=first,
                once=True,
            )


def _make_group(
    spec: Value, name: str, namespace: str, tasks: Sequence[tuple[str, Value]], sizes: Mapping[str, int]
) -> PodGroupObject:
    """Return the PodGroup that Volcano's controller creates for a Job."""
    least = {
        task_name: number(task, "minAvailable", default=sizes[task_name])
        for task_name, task in tasks
        if "minAvailable" in task
    }
    whole = {
        "minMember": number(spec, "minAvailable", default=sum(sizes.values())),
        "minTaskMember": least,
        "queue": text(spec, "queue", default="default"),
        "priorityClassName": text(spec, "priorityClassName"),
        "networkTopology": dict(mapping(spec, "networkTopology")),
        "subGroupPolicy": [
            _make_policy(task_name, policy)
            for task_name, task in tasks
            if (policy := mapping(task, "partitionPolicy"))
        ],
    }
    return PodGroupObject(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {field: given for field, given in whole.items() if given not in ("", {}, [])},
        }
    )


def _make_policy(task: str, policy: Value) -> dict[str, Any]:
    """Return the subgroup policy that Volcano's controller derives from a task's partitions."""
    made = {
        "name": task,
        "subGroupSize": number(policy, "partitionSize", default=1),
        "minSubGroups": number(policy, "minPartitions", default=0),
        "labelSelector": {"matchLabels": {VOLCANO_TASK: task}},
        "matchLabelKeys": [PARTITION],
    }
    topology = mapping(policy, "networkTopology")
    return {**made, "networkTopology": dict(topology)} if topology else made


def _list_parts(task: Value, size: int) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Yield the partitions of a task, or the task as one: index of the first pod, number of pods, and label."""
    policy = mapping(task, "partitionPolicy")
    if not policy:
        yield 0, size, {}
        return
    each = number(policy, "partitionSize", default=1) or size or 1
    for first in range(0, size, each):
        yield first, min(each, size - first), {PARTITION: str(first // each)}
