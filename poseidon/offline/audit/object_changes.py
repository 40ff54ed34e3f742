"""Translates a cure's changes into changes of Kubernetes objects, and drops those that people cannot make.

Rounds know amounts, labels and rules, but not the objects behind them.
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
from poseidon.pod_groups.membership import find_membership
from poseidon.pod_rules.label_selectors import encode_canonically
from poseidon.pod_rules.pod_affinity import parse_required_terms
from poseidon.pods.requests_and_limits import amounts
from poseidon.pods.tasks import workload_of

if TYPE_CHECKING:
    from poseidon.kube.api.metadata import KubeStruct
    from poseidon.manifests.loader import Manifests

_NEAR = "required podAffinity"
OF_GROUP = "topology constraint of PodGroup"
"""Name, in texts, of a group's constraint that all its pods run on nodes with one value of a label."""
OF_TREE = ("topology constraint of group", "topology constraint of the")
"""How the name of such a constraint begins for one group in a tree, or for the groups on a level of it."""

_OF_THE_KUBELET = frozenset(
    f"{prefix}kubernetes.io/{name}" for prefix in ("", "beta.") for name in ("arch", "hostname", "os")
)
"""Node labels that the kubelet restores when others change them."""


_SCALED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})


class Objects:
    """The objects of a cluster, by which it can be told whether and how a change can be made."""

    def __init__(self, manifests: Manifests) -> None:
        self._pods = {each.metadata.uid: each for each in (*manifests.pods, *manifests.suspended)}
        self._replicas: dict[str, list[str]] | None = None
        self._bound_to_storage = frozenset(_labels_of(manifests.storage))

    def changes(self, pod: str, steps: Iterable[CureStep]) -> tuple[CureStep, ...] | None:
        """Return the steps for a pod (uid) as changes of objects, None if people cannot make one of them.

        No request can be lower than the overhead of the pod's runtime class. Labels by which volumes name their nodes
        cannot be changed for one pod. For rules of which a pod may have several, ``before`` is the rule's index in the
        pod's own list.
        """
        found: list[CureStep] = []
        for step in steps:
            change = self._change(self._pods[pod], step, found)
            if change is None:
                return None
            found.append(change)
        return tuple(found)

    def commands(self, pod: str, changes: Sequence[CureStep]) -> tuple[str, ...]:
        """Return the commands that make the changes for a pod (uid); () if some change cannot be made by a command."""
        return commands(self._pods[pod], changes)

    def fewer_replicas(self, pod: str, placed: Container[str]) -> CureStep | None:
        """Return the step that scales a pod's (uid) workload down to its placed pods, None if there is none.

        There is none if no pod or all pods are placed, or if the workload cannot be scaled. ``placed``: uids of pods
        that are on nodes, or get nodes.
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
        """Return the pods (uids) of each workload that have not ended; computed once."""
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
    """Return a step as one about the constraint of the pod's group, None if the pod has no group."""
    found = find_membership(pod)
    if found is None:
        return None
    key = step.subject.rpartition(" by ")[2]
    return replace(
        step, subject=f"{OF_GROUP} {found.source.namespace}/{found.source.name} by {key}", before=None
    )


def _kind_of(step: CureStep) -> str:
    """Return the kind of rule that a step is about: the subject without the label."""
    return step.subject.partition(" by ")[0]


def _places(pod: Pod, kind: str) -> list[int]:
    """Return the indices of a kind's rules in the pod's own list, in the order that rounds use."""
    affinity = pod.spec.affinity or Affinity()
    match kind:
        case "required podAffinity":
            return _places_of_terms(pod, affinity.pod_affinity)
        case "required podAntiAffinity":
            return _places_of_terms(pod, affinity.pod_anti_affinity)
        case _:  # topologySpreadConstraint
            return list(range(len(pod.spec.topology_spread_constraints)))


def _places_of_terms(pod: Pod, rules: PodAffinity | None) -> list[int]:
    places: dict[bytes, int] = {}
    for index, term in enumerate(rules.required if rules else ()):
        for each in parse_required_terms(PodAffinity(required=(term,)), "", pod.metadata, []):
            places.setdefault(encode_canonically(each), index)
    return [places[content] for content in sorted(places)]


def _labels_of(storage: Iterable[KubeStruct]) -> Iterator[str]:
    """Yield the keys of labels that tell which nodes can use a volume, or where volumes can be made."""
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
