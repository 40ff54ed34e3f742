"""Node selectors, node affinity and tolerations, checked as the API server checks them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.label_syntax import key_fault, label_defects
from poseidon.pod_rules.canonical import canonical, one_of
from poseidon.pod_rules.toleration import OPERATORS as TOLERATING
from poseidon.pod_rules.toleration import decimal
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.kube.api.core import (
        NodeAffinity,
        NodeSelectorRequirement,
        NodeSelectorTerm,
        PodSpec,
        Toleration,
    )

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NAME_FIELD = "metadata.name"

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_AFFINITY = "spec.affinity.nodeAffinity"
_REQUIRED = f"{_AFFINITY}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_PREFERRED = f"{_AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution"


def node_selector(spec: PodSpec, defects: list[Defect]) -> dict[str, str]:
    """Return the labels that a node must have."""
    defects.extend(label_defects(spec.node_selector, "spec.nodeSelector"))
    return spec.node_selector


def required_terms(affinity: NodeAffinity, defects: list[Defect]) -> list[pb.NodeSelectorTerm]:
    """Return the terms of which one must match. A rule without terms would match nothing and is a defect."""
    if affinity.required is None:
        return []
    terms = affinity.required.node_selector_terms
    if not terms:
        defects.append(Defect(_REQUIRED, "empty, so no node could match; give at least one term"))
    found = [_term(term, f"{_REQUIRED}[{index}]", defects) for index, term in enumerate(terms)]
    return sorted(found, key=canonical)


def preferred_terms(affinity: NodeAffinity, defects: list[Defect]) -> list[pb.PreferredTerm]:
    """Return the weighted terms. An empty one is worth nothing, as in Kubernetes, and is left out."""
    found = []
    for index, preferred in enumerate(affinity.preferred):
        path = f"{_PREFERRED}[{index}]"
        if not 1 <= preferred.weight <= 100:
            problem = f"{preferred.weight} is out of range; give a weight from 1 to 100"
            defects.append(Defect(f"{path}.weight", problem))
            continue
        term = _term(preferred.preference, f"{path}.preference", defects)
        if term.labels or term.fields:
            found.append(pb.PreferredTerm(weight=preferred.weight, term=term))
    return sorted(found, key=canonical)


def tolerations(given: Iterable[Toleration], defects: list[Defect]) -> list[pb.Toleration]:
    """Return the tolerations, each once, with the default operator written out."""
    found: dict[tuple[str, str, str, str], pb.Toleration] = {}
    for index, toleration in enumerate(given):
        path = f"spec.tolerations[{index}]"
        operator = toleration.operator or "Equal"
        if operator not in TOLERATING:
            problem = f"unknown operator {operator!r}; use {one_of(TOLERATING)}"
            defects.append(Defect(f"{path}.operator", problem))
        elif operator == "Exists" and toleration.value:
            defects.append(Defect(f"{path}.value", "must be empty when the operator is Exists; remove it"))
        elif operator in ("Gt", "Lt") and decimal(toleration.value) is None:
            problem = (
                f"{toleration.value!r} is not an integer, which {operator} compares; write one such as 100"
            )
            defects.append(Defect(f"{path}.value", problem))
        elif operator != "Exists" and not toleration.key:
            defects.append(
                Defect(f"{path}.operator", "must be Exists when the key is empty, which means every taint")
            )
        if toleration.effect and toleration.effect not in EFFECTS:
            problem = f"unknown effect {toleration.effect!r}; use {one_of(EFFECTS)}"
            defects.append(Defect(f"{path}.effect", problem))
        content = (toleration.key, operator, toleration.value, toleration.effect)
        found[content] = pb.Toleration(
            key=toleration.key, operator=operator, value=toleration.value, effect=toleration.effect
        )
    return [found[content] for content in sorted(found)]


def _term(term: NodeSelectorTerm, path: str, defects: list[Defect]) -> pb.NodeSelectorTerm:
    labels = [
        _label_requirement(requirement, f"{path}.matchExpressions[{index}]", defects)
        for index, requirement in enumerate(term.match_expressions)
    ]
    fields = [
        _field_requirement(requirement, f"{path}.matchFields[{index}]", defects)
        for index, requirement in enumerate(term.match_fields)
    ]
    return pb.NodeSelectorTerm(labels=sorted(labels, key=canonical), fields=sorted(fields, key=canonical))


def _label_requirement(given: NodeSelectorRequirement, path: str, defects: list[Defect]) -> pb.Requirement:
    problem = ""
    values = len(given.values)
    fault = key_fault(given.key)
    if fault:
        defects.append(Defect(f"{path}.key", fault))
    if given.operator not in OPERATORS:
        defects.append(
            Defect(f"{path}.operator", f"unknown operator {given.operator!r}; use {one_of(OPERATORS)}")
        )
    elif given.operator in ("In", "NotIn") and not values:
        problem = f"{given.operator} needs at least one value"
    elif given.operator in ("Exists", "DoesNotExist") and values:
        problem = f"{given.operator} takes no values; remove them"
    elif given.operator in ("Gt", "Lt") and (values != 1 or not _INTEGER.fullmatch(given.values[0])):
        problem = f"{given.operator} needs exactly one integer, got {list(given.values)}"
    if problem:
        defects.append(Defect(f"{path}.values", problem))
    return _requirement(given)


def _field_requirement(given: NodeSelectorRequirement, path: str, defects: list[Defect]) -> pb.Requirement:
    if given.key != NAME_FIELD:
        defects.append(Defect(f"{path}.key", f"unknown field {given.key!r}; only {NAME_FIELD} is supported"))
    if given.operator not in FIELD_OPERATORS:
        problem = f"unknown operator {given.operator!r} for a field; use {one_of(FIELD_OPERATORS)}"
        defects.append(Defect(f"{path}.operator", problem))
    elif len(given.values) != 1:
        problem = f"{given.operator} on a field needs exactly one value, got {len(given.values)}"
        defects.append(Defect(f"{path}.values", problem))
    return _requirement(given)


def _requirement(given: NodeSelectorRequirement) -> pb.Requirement:
    return pb.Requirement(key=given.key, operator=given.operator, values=sorted(set(given.values)))
