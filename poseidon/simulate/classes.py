"""What tasks of a simulation are, in the solver's terms: the bridge's translation of their pod templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.pods import Pod
from poseidon.pods.programs import PROGRAM
from poseidon.pods.tasks import task
from poseidon.simulate.workloads.columns import Int64, WorkTemplate
from protos.firmament.v1 import scheduler_pb2 as pb


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

    def add(self, more: Sequence[TaskKinds]) -> TaskKinds:
        """Return these kinds, and ``more`` after them."""
        every = [self, *more]
        return TaskKinds(
            tuple(name for each in every for name in each.names),
            tuple(message for each in every for message in each.classes),
            tuple(priority for each in every for priority in each.priorities),
            tuple(group for each in every for group in each.spread),
            np.concatenate([each.requests for each in every]),
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
    return translate_pods(names, pods, state, resources)


def translate_pods(
    names: Sequence[str], pods: Sequence[Pod], state: BridgeState, resources: Sequence[str]
) -> TaskKinds:
    """Return what pods are, each a kind of its own that is called so. Raises ``TemplateError``."""
    tasks = [task(each, state.classes, state.priorities) for each in pods]
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
    )


def request_row(message: pb.TaskClass, resources: Sequence[str]) -> list[int]:
    """Return what a task of a class asks for of each resource, and one of pods."""
    asked = {each.resource: each.amount for each in message.requests} | {"pods": 1}
    return [asked.get(name, 0) for name in resources]
