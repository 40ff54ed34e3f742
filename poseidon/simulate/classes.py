"""Translates the pod templates of a simulation into the solver's priorities and classes, as the bridge translates
pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.pods import Pod
from poseidon.pods.learnt_run_times import PROGRAM
from poseidon.pods.tasks import Task, translate_pod
from poseidon.pods.tree_place import TreePlace
from poseidon.simulate.workloads.columns import Int64, WorkTemplate
from protos.firmament.v1 import scheduler_pb2 as pb

GROUP = "all"
"""Name of the tree group that all tasks of a gang belong to."""


class TemplateError(ValueError):
    """Raised if a pod template cannot be used; the text names the template, the field and the fault."""


@dataclass(frozen=True, slots=True)
class TaskKinds:
    """The kinds of tasks in a simulation: T pod templates, translated for the solver."""

    names: tuple[str, ...]
    """Name of each kind in reports."""
    classes: tuple[pb.TaskClass, ...]
    """Task class of each kind."""
    priorities: tuple[int, ...]
    """Priority of each kind."""
    spread: tuple[str, ...]
    """For each kind, the name of the group whose tasks are spread by default, "" for none."""
    requests: Int64
    """int64[T, K]: how much a task requests of each resource that machines offer; every task requests 1 of pods."""
    groups: tuple[pb.JobGroup | None, ...]
    """For each kind, the topology domain within which its gangs must stay, None if they may use all machines."""

    def add(self, more: Sequence[TaskKinds]) -> TaskKinds:
        """Return these kinds, followed by the kinds of each of ``more``."""
        every = [self, *more]
        return TaskKinds(
            tuple(name for each in every for name in each.names),
            tuple(message for each in every for message in each.classes),
            tuple(priority for each in every for priority in each.priorities),
            tuple(group for each in every for group in each.spread),
            np.concatenate([each.requests for each in every]),
            tuple(group for each in every for group in each.groups),
        )


def decode_template(template: WorkTemplate) -> Pod:
    """Return the pod that a template describes. Raises ``TemplateError`` if the template is invalid."""
    value: dict[str, Any] = {
        "metadata": {"namespace": "default", **template.manifest.get("metadata", {}), "name": template.name},
        "spec": template.manifest.get("spec", {}),
    }
    value["metadata"]["uid"] = f"template/{template.name}"
    try:
        return msgspec.convert(value, Pod, strict=False)
    except msgspec.ValidationError as error:
        raise TemplateError(f"workload ({template.name}): {error}") from None


def translate_templates(
    templates: Sequence[WorkTemplate], state: BridgeState, resources: Sequence[str]
) -> TaskKinds:
    """Translate all templates as the bridge translates pods, and then number their classes.

    Some cost models read the programs of pods, so classes state them. A template's program is the template's own name
    unless it names another program. Raises ``TemplateError`` for an invalid template.
    """
    names = [each.name for each in templates]
    pods = [decode_template(each) for each in templates]
    if state.classes.visibility.programs:
        for pod in pods:
            pod.metadata.annotations.setdefault(PROGRAM, pod.metadata.name)
    return translate_pods(names, pods, state, resources, [_describe_group(each) for each in templates])


def _describe_group(template: WorkTemplate) -> pb.JobGroup | None:
    if not template.within and not template.rather_within:
        return None
    within, rather = ([each] if each else [] for each in (template.within, template.rather_within))
    return pb.JobGroup(name=GROUP, within=within, rather_within=rather)


def translate_pods(
    names: Sequence[str],
    pods: Sequence[Pod],
    state: BridgeState,
    resources: Sequence[str],
    groups: Sequence[pb.JobGroup | None] | None = None,
) -> TaskKinds:
    """Return each pod as a separate kind of task, with a name from ``names``.

    Raises ``TemplateError`` if a pod is invalid.

    ``groups`` has, for each pod, the topology domain that its gang has to stay within, None for all machines.
    """
    groups = [None] * len(pods) if groups is None else groups
    tasks = [
        _translate(name, pod, state, group) for name, pod, group in zip(names, pods, groups, strict=True)
    ]
    state.classes.refresh()
    classes = []
    for name, each in zip(names, tasks, strict=True):
        for defect in state.classes.defects(each.task_class):
            raise TemplateError(f"workload ({name}): {defect}")
        classes.append(state.classes.message(each.task_class))
    rows = [request_row(each, resources) for each in classes]
    return TaskKinds(
        tuple(names),
        tuple(classes),
        tuple(each.priority for each in tasks),
        tuple(each.spread for each in tasks),
        np.array(rows, dtype=np.int64).reshape(len(rows), len(resources)),
        tuple(groups),
    )


def _translate(name: str, pod: Pod, state: BridgeState, group: pb.JobGroup | None) -> Task:
    """Return the task that a bridge would make of a pod, with the quota of its queue.

    Raises ``TemplateError`` if the pod is invalid.
    """
    found = translate_pod(pod, state.classes, state.priorities)
    traits = found.traits
    if group is not None:
        traits = state.classes.set_tree(traits, TreePlace(group.name))
    if state.queues is not None:
        quota, problem = state.queues.assign_quota(pod.metadata.uid, pod)
        priority = state.queues.priorities.rank_pod(pod.metadata.uid, found.priority)
        state.queues.forget_pod(pod.metadata.uid)
        if problem:
            raise TemplateError(f"workload ({name}): {problem}")
        found = replace(found, priority=priority)
        traits = state.classes.set_queue(traits, quota)
    return replace(found, traits=traits)


def request_row(message: pb.TaskClass, resources: Sequence[str]) -> list[int]:
    """Return how much a task of a class requests of each resource; every task requests 1 of pods."""
    asked = {each.resource: each.amount for each in message.requests} | {"pods": 1}
    return [asked.get(name, 0) for name in resources]
