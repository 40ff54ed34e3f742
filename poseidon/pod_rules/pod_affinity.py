"""Translates affinity and anti-affinity between pods, and rules for groups, into rules between tasks."""

from __future__ import annotations

from typing import NamedTuple

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_rules import PodAffinity, PodAffinityTerm
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import key_fault, namespace_fault
from poseidon.pod_rules.label_selectors import (
    drop_repeated,
    encode_canonically,
    parse_requirements,
)
from poseidon.pod_rules.match_label_keys import parse_match_label_keys
from protos.firmament.v1 import scheduler_pb2 as pb

GROUP_LABEL = "group of pods"
"""A label of classes that names a pod's group. No pod can have a label of this name, because it contains blanks."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def parse_required_terms(
    rules: PodAffinity, path: str, metadata: ObjectMeta, defects: list[Defect]
) -> list[pb.TaskTerm]:
    """Return the terms that must all hold, each once. ``path``: field of ``rules``; ``metadata``: the pod's."""
    found = {}
    for index, term in enumerate(rules.required):
        message = _parse_term(term, f"{path}.{_REQUIRED}[{index}]", metadata, defects)
        found[encode_canonically(message)] = message
    return [found[content] for content in sorted(found)]


def parse_preferred_terms(
    rules: PodAffinity, path: str, metadata: ObjectMeta, defects: list[Defect]
) -> list[pb.TaskTerm]:
    """Return the weighted terms; equal terms are kept as often as they are given."""
    found = []
    for index, preferred in enumerate(rules.preferred):
        where = f"{path}.{_PREFERRED}[{index}]"
        message = _parse_term(preferred.pod_affinity_term, f"{where}.podAffinityTerm", metadata, defects)
        if 1 <= preferred.weight <= 100:
            message.weight = preferred.weight
            found.append(message)
        else:
            problem = f"{preferred.weight} is out of range; give a weight from 1 to 100"
            defects.append(Defect(f"{where}.weight", problem))
    return sorted(found, key=encode_canonically)


def topology_key_defects(key: str, path: str) -> list[Defect]:
    """Return what is wrong with a ``topologyKey``."""
    fault = "empty; name a label of nodes, such as kubernetes.io/hostname" if not key else key_fault(key)
    return [Defect(f"{path}.topologyKey", fault)] if fault else []


def _parse_term(term: PodAffinityTerm, path: str, metadata: ObjectMeta, defects: list[Defect]) -> pb.TaskTerm:
    defects.extend(topology_key_defects(term.topology_key, path))
    for index, name in enumerate(term.namespaces):
        fault = namespace_fault(name)
        if fault:
            defects.append(Defect(f"{path}.namespaces[{index}]", fault))
    return pb.TaskTerm(topology_key=term.topology_key, selector=_selector(term, path, metadata, defects))


def _selector(
    term: PodAffinityTerm, path: str, metadata: ObjectMeta, defects: list[Defect]
) -> pb.TaskSelector:
    added = parse_match_label_keys(
        term.label_selector,
        metadata.labels,
        path,
        defects,
        match=term.match_label_keys,
        mismatch=term.mismatch_label_keys,
    )
    by_label = _namespaces_by_label(term, path, defects)
    if term.label_selector is None:
        return pb.TaskSelector(nothing=True)
    own = parse_requirements(term.label_selector, f"{path}.labelSelector", defects)
    if by_label is not None and not by_label.labels:
        # The term selects all namespaces, so names of single namespaces add nothing.
        return pb.TaskSelector(labels=drop_repeated([*own, *added]), namespaces_by_label=by_label)
    names = set(term.namespaces)
    if not names and by_label is None:
        names = {metadata.namespace or "default"}
    return pb.TaskSelector(
        labels=drop_repeated([*own, *added]), namespaces=sorted(names), namespaces_by_label=by_label
    )


def _namespaces_by_label(
    term: PodAffinityTerm, path: str, defects: list[Defect]
) -> pb.NamespaceSelector | None:
    if term.namespace_selector is None:
        return None
    labels = parse_requirements(term.namespace_selector, f"{path}.namespaceSelector", defects)
    return pb.NamespaceSelector(labels=labels)


class Colocation(NamedTuple):
    """A rule that the nodes of ``group``'s pods have equal values of each of the labels ``topology_keys``.

    The term is Kubernetes' ``schedulingConstraints.topology``, expressed as a required affinity of the pods to each
    other. The first pod may therefore go anywhere, nodes without the label take no pod, and later pods follow running
    ones.
    """

    group: str
    topology_keys: tuple[str, ...]

    def add_to(self, message: pb.TaskClass) -> None:
        """Add the rule to the message of a class."""
        message.labels[GROUP_LABEL] = self.group
        own = pb.TaskSelector(
            labels=[pb.Requirement(key=GROUP_LABEL, operator="In", values=[self.group])],
            namespaces_by_label=pb.NamespaceSelector(),
        )
        message.affinity.extend(pb.TaskTerm(topology_key=key, selector=own) for key in self.topology_keys)


ANYWHERE = Colocation("", ())
