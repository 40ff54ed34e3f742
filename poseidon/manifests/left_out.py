"""What of an input no plan can take into account, and what is said of it: kinds that are not read, pods of other
schedulers, and those that run on nodes outside the input.

Most kinds have nothing to do with scheduling and are passed over in silence. Kinds that are not known but hold
templates of pods are named: somebody's controller makes pods of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from poseidon.manifests.wording import RENDER_FIRST, listed, printed_by
from poseidon.pods.tasks import qualified_name, scheduler_of

if TYPE_CHECKING:
    from poseidon.kube.api.core import Pod
    from poseidon.manifests.documents import Document

_PRINTED_FOR_PEOPLE = ("Table", "PartialObjectMetadata")
_NO_PODS_OF_THEIR_OWN = frozenset(
    {
        ("apps", "ControllerRevision"),
        ("", "PodTemplate"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("kueue.x-k8s.io", "Workload"),
    }
)
"""Copies of templates whose pods others create."""


class Unread:
    """Collects objects that are left out, and says so in a line for each kind."""

    def __init__(self) -> None:
        self._holding_pods: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._templates: list[str] = []
        self._lines: list[str] = []

    def take(self, document: Document) -> None:
        """Take note of an object of a kind that is not read."""
        group, kind = document.api_version.rpartition("/")[0], document.kind
        if kind == "Status":
            message = " ".join(str(document.value.get("message") or "no message").split())
            self._lines.append(f"{document.source}: an answer of the API server, and no object: {message}")
        elif group == "meta.k8s.io" and kind in _PRINTED_FOR_PEOPLE:
            self._lines.append(
                f"{document.source}: a {kind} holds too little of its objects; "
                "use what kubectl get -o yaml prints"
            )
        elif (group, kind) not in _NO_PODS_OF_THEIR_OWN and holds_pods(document.value):
            metadata = document.value.get("metadata")
            name = metadata.get("name") if isinstance(metadata, Mapping) else None
            self._holding_pods[kind, group].append(str(name or "(no name)"))

    def template(self, document: Document) -> None:
        """Take note of an object that has yet to be filled in."""
        self._templates.append(document.source)

    def warnings(self) -> Iterator[str]:
        """Yield a line per kind."""
        yield from self._lines
        if self._templates:
            yield f"{listed(self._templates)}: left out, as templates; {RENDER_FIRST}"
        for (kind, group), names in sorted(self._holding_pods.items()):
            full = f"{kind} ({group})" if group else kind
            yield (
                f"{full}: {len(names)} left out ({listed(names)}): it holds pods, but how many is not known here; "
                "add the pods that its controller has created"
            )


def holds_pods(value: object) -> bool:
    """Whether an object has a template of pods somewhere inside: ``*template.spec.containers``, at any depth."""
    seen: set[int] = set()
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue  # YAML aliases: shared parts, or a value that contains itself
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
    if not isinstance(key, str) or not key.lower().endswith("template") or not isinstance(value, Mapping):
        return False
    spec = value.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    return isinstance(containers, list) and any(isinstance(each, Mapping) for each in containers)


class LeftOut:
    """Counts pods, and says in a line each which they are and why."""

    def __init__(self) -> None:
        self._schedulers: Counter[str] = Counter()
        self._pods: list[str] = []
        self._nodes: dict[str, None] = {}

    def of_other_scheduler(self, pod: Pod) -> None:
        """Take note of a pod that waits for a scheduler that is not asked about."""
        self._schedulers[scheduler_of(pod)] += 1

    def elsewhere(self, pod: Pod) -> None:
        """Take note of a pod that runs on a node which is not in the input."""
        self._pods.append(qualified_name(pod.metadata))
        self._nodes[pod.spec.node_name] = None

    def warnings(self) -> Iterator[str]:
        """Yield a line per reason."""
        if self._pods:
            yield (
                f"Pod {listed(self._pods, 1)}: spec.nodeName: node {listed(map(repr, self._nodes))} is not in the "
                f"input, so what runs there is left out; {printed_by('nodes', namespaced=False)}"
            )
        if self._schedulers:
            total = sum(self._schedulers.values())
            noun = "pod waits" if total == 1 else "pods wait"
            counts = ", ".join(f"{count} for {name}" for name, count in sorted(self._schedulers.items()))
            yield f"{total} {noun} for another scheduler and take no part: {counts}; add --scheduler-name NAME"
