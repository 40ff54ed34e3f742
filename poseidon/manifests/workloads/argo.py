"""Reads Argo's Workflow and Rollout (argoproj.io), and yields their pods."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.validation import MAX_PODS
from poseidon.manifests.warning_phrases import suggest_printing
from poseidon.manifests.workloads.common.fields import (
    NotKnownError,
    Value,
    find,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names

_ENDED = frozenset({"Succeeded", "Failed", "Error"})
_WITH_PODS = ("container", "script", "resource", "data", "containerSet")
_DEPTH = 30
_OF_POD = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulerName",
    "hostNetwork",
    "volumes",
    "priorityClassName",
)
_TASK = re.compile(r"[A-Za-z0-9_-]+")

_HASH = "rollouts-pod-template-hash"


def read_workflow(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield the pods of the widest stage of a workflow, which are the most that may run at the same time."""
    name, spec = name_of(value), mapping(value, "spec")
    if text(value, "status", "phase") in _ENDED or find(spec, "suspend") is True:
        return
    reference = mapping(spec, "workflowTemplateRef")
    if reference:
        spec = {**_find_template_spec(reference, namespace_of(value), known), **spec}
    workflow = _Workflow(spec, namespace_of(value), known)
    widest = workflow.widest(text(spec, "entrypoint"), 0)
    left = number(spec, "parallelism", default=MAX_PODS)
    for template, wanted in sorted(widest.items()):
        pods = min(wanted, left)
        left -= pods
        yield PodSet(
            names=number_names(f"{name}-{template}", pods),
            template=_pod(spec, workflow.templates[template]),
            owner=("Workflow", name),
            marks={"workflows.argoproj.io/workflow": name},
            annotations={"workflows.argoproj.io/node-name": f"{name}.{template}"},
            once=True,
        )


def _find_template_spec(reference: Value, namespace: str, known: Known) -> Value:
    """Return the spec of a WorkflowTemplate that a reference names."""
    of_cluster = find(reference, "clusterScope") is True
    kind, name = "ClusterWorkflowTemplate" if of_cluster else "WorkflowTemplate", text(reference, "name")
    template = known.get("default" if of_cluster else namespace, kind, name)
    if template is None:
        remedy = suggest_printing(f"{kind.lower()}s", namespaced=not of_cluster)
        raise NotKnownError(f"{kind} {name} is not in the input; {remedy}")
    return mapping(template, "spec")


class _Workflow:
    """The templates of a workflow, to count the most pods that run at the same time."""

    def __init__(self, spec: Value, namespace: str, known: Known) -> None:
        self._namespace, self._known = namespace, known
        self.templates = {text(each, "name"): each for each in items(spec, "templates")}
        self._widest: dict[str, Counter[str]] = {}

    def widest(self, name: str, depth: int) -> Counter[str]:
        """Return how many pods of each template run at most for the template ``name``.

        A template that calls itself is counted up to its first repetition.
        """
        template = self.templates.get(name)
        if template is None:
            raise NotKnownError(f"spec.templates: {name!r} is not among them")
        if name not in self._widest:
            self._widest[name] = Counter()
            self._widest[name] = self._count_template(name, template, depth)
        return self._widest[name]

    def _count_template(self, name: str, template: Value, depth: int) -> Counter[str]:
        if depth > _DEPTH:
            raise MalformedObjectError("spec.templates", "templates call one another too deeply")
        if any(find(template, kind) is not None for kind in _WITH_PODS):
            return Counter({name: 1})
        steps = find(template, "steps")
        groups = (
            [each if isinstance(each, list) else [each] for each in steps] if isinstance(steps, list) else []
        )
        stages: list[list[Value]] = [[each for each in group if isinstance(each, dict)] for group in groups]
        stages += _list_stages(items(template, "dag", "tasks"))
        pods = max(
            (self._count_together(stage, depth) for stage in stages), key=Counter.total, default=Counter()
        )
        return _cap(pods, number(template, "parallelism", default=MAX_PODS))

    def _count_together(self, calls: list[Value], depth: int) -> Counter[str]:
        """Return how many pods of each template run at the same time for ``calls``."""
        pods: Counter[str] = Counter()
        for call in calls:
            times = _count_copies(call)
            for name, count in self._count_call(call, depth).items():
                pods[name] += count * times
        return _cap(pods, MAX_PODS)

    def _count_call(self, call: Value, depth: int) -> Counter[str]:
        inline, reference = mapping(call, "inline"), mapping(call, "templateRef")
        name = text(call, "template")
        if inline:
            name = text(call, "name")
            self.templates.setdefault(name, inline)
        elif reference:
            name = text(reference, "template")
            others = items(_find_template_spec(reference, self._namespace, self._known), "templates")
            for each in others:
                self.templates.setdefault(text(each, "name"), each)
        return self.widest(name, depth + 1)


def _cap(pods: Counter[str], most: int) -> Counter[str]:
    """Return the counts, reduced to a total of at most ``most`` pods."""
    capped: Counter[str] = Counter()
    for name, count in pods.items():
        capped[name] = min(count, most)
        most -= capped[name]
    return capped


def _count_copies(call: Value) -> int:
    """Return how many copies of a step run at the same time; 1 if the number is known only at run time."""
    each = find(call, "withItems")
    if isinstance(each, list):
        return len(each)
    sequence = mapping(call, "withSequence")
    if not sequence:
        return 1
    count, first, last = (_whole(find(sequence, key)) for key in ("count", "start", "end"))
    if count is None:
        count = abs(last - (first or 0)) + 1 if last is not None else 1
    if count > MAX_PODS:
        raise MalformedObjectError(
            "withSequence", f"{count} is absurdly large; at most {MAX_PODS} are accepted"
        )
    return count


def _whole(value: Any) -> int | None:
    written = str(value)
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 20 else None


def _list_stages(tasks: list[Value]) -> list[list[Value]]:
    """Return the tasks of a graph by stage; tasks of one stage have equally long chains of dependencies before them."""
    by_name = {text(each, "name"): each for each in tasks}
    levels: dict[str, int] = {}
    for _ in range(len(tasks)):
        before = dict(levels)
        for name, task in by_name.items():
            needed = {each for each in _list_needed(task) if each in by_name and each != name}
            levels[name] = max((levels.get(each, 0) + 1 for each in needed), default=0)
        if levels == before:
            break
    stages: dict[int, list[Value]] = {}
    for name, level in levels.items():
        stages.setdefault(level, []).append(by_name[name])
    return [stages[level] for level in sorted(stages)]


def _list_needed(task: Value) -> list[str]:
    listed = find(task, "dependencies")
    names = [str(each) for each in listed] if isinstance(listed, list) else []
    return names + _TASK.findall(text(task, "depends"))


def _pod(spec: Value, template: Value) -> Value:
    """Return the pod template of a step: the fields of the workflow, overridden by those of the step's template."""
    pod: dict[str, Any] = {}
    for part in (spec, template):
        for field in _OF_POD:
            if (given := find(part, field)) is not None:
                pod[field] = given
    if priority := text(spec, "podPriorityClassName"):
        pod.setdefault("priorityClassName", priority)
    main = mapping(template, "container") or mapping(template, "script")
    containers = items(template, "containerSet", "containers")
    pod["containers"] = containers or [{**main, "name": "main"}]
    pod["containers"] = [*pod["containers"], *items(template, "sidecars")]
    pod["initContainers"] = items(template, "initContainers")
    metadata = mapping(spec, "podMetadata"), mapping(template, "metadata")
    return {
        "metadata": {
            field: {**mapping(metadata[0], field), **mapping(metadata[1], field)}
            for field in ("labels", "annotations")
        },
        "spec": pod,
    }


def read_rollout(value: Value, known: Known) -> Iterator[PodSet]:
    """Yield those pods of a rollout that ReplicaSets of the input do not already account for."""
    name, namespace, spec = name_of(value), namespace_of(value), mapping(value, "spec")
    template, reference = mapping(spec, "template"), mapping(spec, "workloadRef")
    if reference:
        kind, other = text(reference, "kind"), text(reference, "name")
        workload = known.get(namespace, kind, other)
        if workload is None:
            remedy = suggest_printing(f"{kind.lower()}s")
            raise NotKnownError(f"spec.workloadRef: {kind} {other} is not in the input; {remedy}")
        template = mapping(workload, "spec", "template")
    owned = [each for each in known.list_owned(namespace, ("Rollout", name)) if each.kind == "ReplicaSet"]
    there = sum(number(each.value, "spec", "replicas", default=1) for each in owned)
    wanted = max(number(spec, "replicas", default=1) - there, 0)
    yield PodSet(
        names=number_names(name, wanted),
        template=template,
        owner=("Rollout", name),
        hash_label="" if owned else _HASH,
        alone=bool(owned),
    )
