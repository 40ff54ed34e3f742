"""Volcano's Job (batch.volcano.sh): tasks of pods, placed together from ``minAvailable`` on."""

from __future__ import annotations

from collections.abc import Iterator

from poseidon.manifests.workloads.fields import Value, items, mapping, name_of, namespace_of, number, text
from poseidon.manifests.workloads.pod_sets import Known, PodGroupObject, PodSet, number_names

_GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
_ENDED = frozenset({"Completed", "Failed", "Aborted", "Aborting", "Terminated", "Terminating", "Completing"})


def read_volcano_job(value: Value, known: Known) -> Iterator[PodSet | PodGroupObject]:
    """Yield the pods of each task, and the PodGroup that they are in."""
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
        }
        yield PodGroupObject(
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": group_name, "namespace": namespace},
                "spec": {field: given for field, given in whole.items() if given not in ("", {})},
            }
        )
    for task_name, task in tasks:
        template = mapping(task, "template")
        pod = dict(mapping(template, "spec"))
        pod.setdefault("schedulerName", text(spec, "schedulerName", default="volcano"))
        if text(spec, "priorityClassName"):
            pod.setdefault("priorityClassName", text(spec, "priorityClassName"))
        yield PodSet(
            names=number_names(f"{name}-{task_name}", sizes[task_name]),
            template={**template, "spec": pod},
            owner=("Job", name),
            marks={"volcano.sh/job-name": name, "volcano.sh/task-spec": task_name},
            labels={
                "volcano.sh/job-namespace": namespace,
                "volcano.sh/queue-name": text(spec, "queue", default="default"),
            },
            annotations={
                _GROUP_ANNOTATION: group_name,
                "volcano.sh/task-spec": task_name,
                "volcano.sh/job-name": name,
            },
            index_label="volcano.sh/task-index",
            once=True,
        )
