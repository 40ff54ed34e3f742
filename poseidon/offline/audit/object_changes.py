"""Translates a cure's steps into changes of Kubernetes objects, and drops cures that people cannot carry out.

The solver's rounds know amounts, labels and rules, but not the objects that state them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from poseidon.kube.api.pod_rules import Affinity, PodAffinity
from poseidon.kube.api.pods import Pod, claims_of
from poseidon.kube.api.storage import CsiStorageCapacity, PersistentVolume, StorageClass
from poseidon.offline.audit.commands import commands
from poseidon.offline.audit.findings import CureStep
from poseidon.pod_groups.group_names import find_membership
from poseidon.pod_rules.label_selectors import encode_canonically
from poseidon.pod_rules.pod_affinity import parse_required_terms
from poseidon.pods.requests_and_limits import amounts
from poseidon.pods.tasks import workload_of

if TYPE_CHECKING:
    from poseidon.kube.api.metadata import KubeStruct
    from poseidon.manifests.loader import Manifests

_NEAR = "required podAffinity"
OF_GROUP = "topology constraint of PodGroup"
"""Name, in texts, of a PodGroup's constraint that all its pods run on nodes with one value of a label."""
OF_TREE = ("topology constraint of group", "topology constraint of the")
"""Beginnings of the names of two constraints: on one group of a tree, and on all groups of a level of the tree."""

_OF_THE_KUBELET = frozenset(
    f"{prefix}kubernetes.io/{name}" for prefix in ("", "beta.") for name in ("arch", "hostname", "os")
)
"""Node labels that the kubelet sets back when others change them."""


_SCALED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})


class Objects:
    """The objects of a cluster, which show whether and how people can make a change."""

    def __init__(self, manifests: Manifests) -> None:
        self._pods = {each.metadata.uid: each for each in (*manifests.pods, *manifests.suspended)}
        self._replicas: dict[str, list[str]] | None = None
        self._bound_to_storage = frozenset(_labels_of(manifests.storage))

    def changes(self, pod: str, steps: Iterable[CureStep]) -> tuple[CureStep, ...] | None:
        """Return a cure's steps for a pod (uid) as changes of objects, or None if people cannot make one of them.

        A pod's request cannot be lower than the overhead of the pod's runtime class. Labels by which volumes name
        their nodes cannot be changed for a single pod. A pod may have several rules of one kind; then ``before`` is
        the rule's index in the pod's own list.
        """
        found: list[CureStep] = []
        for step in steps:
            change = self._change(self._pods[pod], step, found)
            if change is None:
                return None
            found.append(change)
        return tuple(found)

    def commands(self, pod: str, changes: Sequence[CureStep]) -> tuple[str, ...]:
        """Return the commands that make the changes for a pod (uid), or () if some change has no command."""
        return commands(self._pods[pod], changes)

    def fewer_replicas(self, pod: str, placed: Container[str]) -> CureStep | None:
        """Return the step that scales the workload of a pod (uid) down to its placed pods, or None if no step can.

        No step can if none or all of the workload's pods are placed, or if the workload cannot be scaled. ``placed``
        has the uids of the pods that have nodes, or get nodes.
        """
        found, owner = self._pods[pod], self._pods[pod].metadata.controller()
        if owner is None or owner.kind not in _SCALED:
            return None
        name = workload_of(found)
        replicas = self._by_workload().get(name, [])
        count = sum(uid in placed for uid in replicas)
        return (
            CureStep("fewer-replicas", name, "", len(replicas), count) if 0 < count < len(replicas) else None
        )

    def _by_workload(self) -> dict[str, list[str]]:
        """Return, by workload, the uids of its pods that have not ended; the result is computed once."""
        if self._replicas is None:
            self._replicas = {}
            for uid, each in self._pods.items():
                if not each.terminal:
                    self._replicas.setdefault(workload_of(each), []).append(uid)
        return self._replicas

    def _change(self, pod: Pod, step: CureStep, before: Sequence[CureStep]) -> CureStep | None:
        match step.kind:
            case "label-node" if step.subject in _OF_THE_KUBELET:
                return None
            case "label-node" if step.subject in self._bound_to_storage and claims_of(pod):
                return None
            case "lower-request":
                overhead = amounts(pod.spec.overhead, "spec.overhead", []).get(step.subject, 0)
                return None if int(step.after or 0) <= overhead > 0 else step
            case "drop-constraint" | "widen-rule" if step.before is not None:
                kind = _kind_of(step)
                dropped = (each for each in before if each.kind == "drop-constraint")
                gone = {each.before for each in dropped if _kind_of(each) == kind}
                left = [number for number in _places(pod, kind) if number not in gone]
                place = int(step.before)
                if place < len(left):
                    return replace(step, before=left[place])
                return _change_group(pod, step) if kind == _NEAR else None
            case _:
                return step


def _change_group(pod: Pod, step: CureStep) -> CureStep | None:
    """Return a step with the constraint of the pod's group as its subject, or None if the pod has no group."""
    found = find_membership(pod)
    if found is None:
        return None
    key = step.subject.rpartition(" by ")[2]
    return replace(
        step, subject=f"{OF_GROUP} {found.source.namespace}/{found.source.name} by {key}", before=None
    )


def _kind_of(step: CureStep) -> str:
    """Return the kind of rule that a step changes: its subject without the label."""
    return step.subject.partition(" by ")[0]


def _places(pod: Pod, kind: str) -> list[int]:
    """Return the indices of the pod's rules of one kind in the pod's own list, in the order that rounds use."""
    affinity = pod.spec.affinity or Affinity()
    match kind:
        case "required podAffinity":
            return _places_of_terms(pod, affinity.pod_affinity)
        case "required podAntiAffinity":
            return _places_of_terms(pod, affinity.pod_anti_affinity)
        case _:  # All other kinds were handled, so this is a topologySpreadConstraint.
            return list(range(len(pod.spec.topology_spread_constraints)))


def _places_of_terms(pod: Pod, rules: PodAffinity | None) -> list[int]:
    places: dict[bytes, int] = {}
    for index, term in enumerate(rules.required if rules else ()):
        for each in parse_required_terms(PodAffinity(required=(term,)), "", pod.metadata, []):
            places.setdefault(encode_canonically(each), index)
    return [places[content] for content in sorted(places)]


def _labels_of(storage: Iterable[KubeStruct]) -> Iterator[str]:
    """Yield the keys of labels that decide which nodes can use a volume, or where volumes can be made."""
    for each in storage:
        match each:
            case PersistentVolume(spec=spec) if spec.node_affinity and spec.node_affinity.required:
                for term in spec.node_affinity.required.node_selector_terms:
                    yield from (expression.key for expression in term.match_expressions)
            case StorageClass(allowed_topologies=topologies):
                for topology in topologies:
                    yield from (expression.key for expression in topology.match_label_expressions)
            case CsiStorageCapacity(node_topology=selector) if selector is not None:
                yield from selector.match_labels
                yield from (expression.key for expression in selector.match_expressions)
