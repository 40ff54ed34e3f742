"""What tasks of a simulation are, in the solver's terms: the bridge's translation of their pod templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.pods import Pod
from poseidon.pods.classes import TreePlace
from poseidon.pods.programs import PROGRAM
from poseidon.pods.tasks import Task, task
from poseidon.simulate.workloads.columns import Int64, WorkTemplate
from protos.firmament.v1 import scheduler_pb2 as pb

GROUP = "all"
"""The group of a gang's tree that all its tasks are in."""


class TemplateError(ValueError):
    """A pod template that cannot be used: its name, the field and what is wrong."""


@dataclass(frozen=True, slots=True)
class TaskKinds:
    """T pod templates, translated."""

    names: tuple[str, ...]
    """What they are called in reports."""
    classes: tuple[pb.TaskClass, ...]
    """Their classes."""
    priorities: tuple[int, ...]
    """Their priorities."""
    spread: tuple[str, ...]
    """The group that default spread keeps apart, "" for none."""
    requests: Int64
    """int64[T, K]: what a task asks for of each resource of the machines; pods: one."""
    groups: tuple[pb.JobGroup | None, ...]
    """Where a gang's tasks go together, None for anywhere."""

    def add(self, more: Sequence[TaskKinds]) -> TaskKinds:
        """Return these kinds, and ``more`` after them."""
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
    """Return a pod of a template. Raises ``TemplateError``."""
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
    """Translate templates as the bridge does pods; all of them are known before any class is numbered.

    Where models read what pods run, a template is a program of its name, unless it names another. Raises
    ``TemplateError`` for one that no pod could be made of.
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
    """Return what pods are, each a kind of its own that is called so. Raises ``TemplateError``.

    ``groups``: where a gang of each goes together; None: anywhere.
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
    """Return a pod's task, which draws on the quota of its queue. Raises ``TemplateError``."""
    found = task(pod, state.classes, state.priorities)
    traits = found.traits
    if group is not None:
        traits = state.classes.set_tree(traits, TreePlace(group.name))
    if state.queues is not None:
        quota, problem = state.queues.join(pod.metadata.uid, pod)
        priority = state.queues.priorities.rank_pod(pod.metadata.uid, found.priority)
        state.queues.forget_pod(pod.metadata.uid)
        if problem:
            raise TemplateError(f"workload ({name}): {problem}")
        found = replace(found, priority=priority)
        traits = state.classes.set_queue(traits, quota)
    return replace(found, traits=traits)


def request_row(message: pb.TaskClass, resources: Sequence[str]) -> list[int]:
    """Return what a task of a class asks for of each resource, and one of pods."""
    asked = {each.resource: each.amount for each in message.requests} | {"pods": 1}
    return [asked.get(name, 0) for name in resources]
