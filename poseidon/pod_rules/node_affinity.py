"""Reads pods' rules about nodes, checked as by the API server: selectors and affinity."""

from __future__ import annotations

from poseidon.kube.api.pod_rules import (
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from poseidon.kube.api.pods import PodSpec
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import label_defects
from poseidon.pod_rules.label_selectors import (
    encode_canonically,
    format_choice,
    make_requirement,
    parse_requirement,
)
from protos.firmament.v1 import scheduler_pb2 as pb

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
NAME_FIELD = "metadata.name"
_AFFINITY = "spec.affinity.nodeAffinity"
_REQUIRED = f"{_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_PREFERRED = f"{_AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution"


def node_selector(spec: PodSpec, defects: list[Defect]) -> dict[str, str]:
    """Return the labels that a node must have."""
    if spec.node_selector:
        defects.extend(label_defects(spec.node_selector, "spec.nodeSelector"))
    return spec.node_selector


def parse_required_terms(
    affinity: NodeAffinity, defects: list[Defect], path: str = _REQUIRED
) -> list[pb.NodeSelectorTerm]:
    """Return the terms of which at least one must match. A list without terms is a defect: nothing could match.

    ``path``: the field of the terms, for people.
    """
    if affinity.required is None:
        return []
    terms = affinity.required.node_selector_terms
    if not terms:
        defects.append(Defect(path, "empty, so no node could match; give at least one term"))
    found = [_parse_term(term, f"{path}[{index}]", defects) for index, term in enumerate(terms)]
    return sorted(found, key=encode_canonically)


def parse_preferred_terms(affinity: NodeAffinity, defects: list[Defect]) -> list[pb.PreferredTerm]:
    """Return the weighted terms, without empty terms, because these match nothing in Kubernetes."""
    found = []
    for index, preferred in enumerate(affinity.preferred):
        path = f"{_PREFERRED}[{index}]"
        if not 1 <= preferred.weight <= 100:
            problem = f"{preferred.weight} is out of range; give a weight from 1 to 100"
            defects.append(Defect(f"{path}.weight", problem))
            continue
        term = _parse_term(preferred.preference, f"{path}.preference", defects)
        if term.labels or term.fields:
            found.append(pb.PreferredTerm(weight=preferred.weight, term=term))
    return sorted(found, key=encode_canonically)


def _parse_term(term: NodeSelectorTerm, path: str, defects: list[Defect]) -> pb.NodeSelectorTerm:
    labels = [
        parse_requirement(requirement, f"{path}.matchExpressions[{index}]", defects, OPERATORS)
        for index, requirement in enumerate(term.match_expressions)
    ]
    fields = [
        _field_requirement(requirement, f"{path}.matchFields[{index}]", defects)
        for index, requirement in enumerate(term.match_fields)
    ]
    return pb.NodeSelectorTerm(
        labels=sorted(labels, key=encode_canonically), fields=sorted(fields, key=encode_canonically)
    )


def _field_requirement(given: NodeSelectorRequirement, path: str, defects: list[Defect]) -> pb.Requirement:
    if given.key != NAME_FIELD:
        defects.append(Defect(f"{path}.key", f"unknown field {given.key!r}; only {NAME_FIELD} is supported"))
    if given.operator not in FIELD_OPERATORS:
        problem = f"unknown operator {given.operator!r} for a field; use {format_choice(FIELD_OPERATORS)}"
        defects.append(Defect(f"{path}.operator", problem))
    elif len(given.values) != 1:
        problem = f"{given.operator} on a field needs exactly one value, got {len(given.values)}"
        defects.append(Defect(f"{path}.values", problem))
    return make_requirement(given)
