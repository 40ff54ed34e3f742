"""Warns of objects that a plan cannot use: unknown kinds, pods of other schedulers, pods on unknown nodes.

Most kinds have nothing to do with scheduling and are skipped silently. A warning names unknown kinds with pod
templates, because some controller creates pods from them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from poseidon.kube.api.pods import Pod
from poseidon.manifests.documents import Document
from poseidon.manifests.warning_phrases import RENDER_FIRST, list_names, suggest_printing
from poseidon.manifests.workloads.table import FAMILIES
from poseidon.pods.tasks import get_qualified_name, scheduler_of

_PRINTED_FOR_PEOPLE = ("Table", "PartialObjectMetadata")
_NO_PODS_OF_THEIR_OWN = frozenset(
    {
        ("apps", "ControllerRevision"),
        ("", "PodTemplate"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("argoproj.io", "WorkflowTemplate"),
        ("argoproj.io", "ClusterWorkflowTemplate"),
        ("trainer.kubeflow.org", "TrainingRuntime"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    }
)
"""Kinds that hold pod templates but create no pods, because another object creates the pods."""

_KNOWN = _NO_PODS_OF_THEIR_OWN | FAMILIES.keys()


def warn_of_objects_left_out(documents: Iterable[Document], templates: Sequence[Document]) -> Iterator[str]:
    """Yield a warning for each kind that is not read, and for objects with unfilled places of a template engine."""
    holding_pods: dict[tuple[str, str], list[str]] = defaultdict(list)
    for document in documents:
        group, kind = document.api_version.rpartition("/")[0], document.kind
        if kind == "Status":
            message = " ".join(str(document.value.get("message") or "no message").split())
            yield f"{document.source}: an answer of the API server, and no object: {message}"
        elif group == "meta.k8s.io" and kind in _PRINTED_FOR_PEOPLE:
            remedy = "use what kubectl get -o yaml prints"
            yield f"{document.source}: a {kind} holds too little of its objects; {remedy}"
        elif (
            (group, kind) not in _NO_PODS_OF_THEIR_OWN
            and (group, kind) not in FAMILIES
            and holds_pods(document.value)
        ):
            metadata = document.value.get("metadata")
            name = metadata.get("name") if isinstance(metadata, Mapping) else None
            holding_pods[kind, group].append(str(name or "(no name)"))
    if templates:
        yield f"{list_names(each.source for each in templates)}: left out, as templates; {RENDER_FIRST}"
    for (kind, group), names in sorted(holding_pods.items()):
        full = f"{kind} ({group})" if group else kind
        yield (
            f"{full}: {len(names)} left out ({list_names(names)}): it creates pods, but how many is unknown; "
            "add the pods that its controller has created"
        )


def holds_pods(value: object) -> bool:
    """Return whether an object contains a pod template, at any depth.

    A pod template is recognised by a field ``*template.spec.containers``, ``*template.containers`` or
    ``podSpec.containers``.
    """
    seen: set[int] = set()
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue  # By YAML aliases, several values may share a part, or a value may contain itself.
        if isinstance(part, Mapping):
            seen.add(id(part))
            if any(_is_template(key, inner) for key, inner in part.items()):
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            seen.add(id(part))
            waiting.extend(part)
    return False


def _is_template(key: object, value: Any) -> bool:
    if not isinstance(key, str) or not isinstance(value, Mapping):
        return False
    lowered = key.lower()
    if not lowered.endswith(("template", "templatespec", "podspec")):
        return False
    spec = value.get("spec")
    for part in (spec, value):
        containers = part.get("containers") if isinstance(part, Mapping) else None
        if isinstance(containers, list) and any(isinstance(each, Mapping) for each in containers):
            return True
    return False


def pods_left_out(elsewhere: Sequence[Pod], of_others: Sequence[Pod]) -> Iterator[str]:
    """Yield a warning for pods on nodes that the input lacks, and one for waiting pods of other schedulers."""
    if elsewhere:
        names = (get_qualified_name(pod.metadata) for pod in elsewhere)
        nodes = dict.fromkeys(repr(pod.spec.node_name) for pod in elsewhere)
        yield (
            f"Pod {list_names(names, 1)}: spec.nodeName: node {list_names(nodes)} is not in the input, so what "
            f"runs there is left out; {suggest_printing('nodes', namespaced=False)}"
        )
    if of_others:
        noun = "pod waits" if len(of_others) == 1 else "pods wait"
        schedulers = sorted(Counter(map(scheduler_of, of_others)).items())
        counts = ", ".join(f"{count} for {name}" for name, count in schedulers)
        yield f"{len(of_others)} {noun} for another scheduler and take no part: {counts}; add --scheduler-name NAME"
