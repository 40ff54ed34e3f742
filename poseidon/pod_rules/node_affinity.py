"""Reads pods' rules about nodes, checked as by the API server: selectors, affinity, tolerations, declared features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import (
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Toleration,
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
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NAME_FIELD = "metadata.name"
TOLERATING = ("Equal", "Exists", "Gt", "Lt")

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
"""Names of features that kubelets declare and some pods need (KEP-5328, kube-scheduler's NodeDeclaredFeatures)."""

REASON = "node(s) didn't match Pod's required features"

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_FEATURE = "status.declaredFeatures/"
"""Prefix of labels of machines for declared features.

No label of a node can begin like this, because prefixes are in lower case.
"""
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


def tolerations(given: Iterable[Toleration], defects: list[Defect]) -> list[pb.Toleration]:
    """Return the tolerations, each once, with the default operator written out."""
    found: dict[tuple[str, str, str, str], pb.Toleration] = {}
    for index, toleration in enumerate(given):
        path = f"spec.tolerations[{index}]"
        operator = toleration.operator or "Equal"
        if operator not in TOLERATING:
            problem = f"unknown operator {operator!r}; use {format_choice(TOLERATING)}"
            defects.append(Defect(f"{path}.operator", problem))
        elif operator == "Exists" and toleration.value:
            defects.append(Defect(f"{path}.value", "must be empty when the operator is Exists; remove it"))
        elif operator in ("Gt", "Lt") and parse_compared_integer(toleration.value) is None:
            problem = (
                f"{toleration.value!r} is not an integer, which {operator} compares; write one such as 100"
            )
            defects.append(Defect(f"{path}.value", problem))
        elif operator != "Exists" and not toleration.key:
            defects.append(
                Defect(f"{path}.operator", "must be Exists when the key is empty, which means every taint")
            )
        if toleration.effect and toleration.effect not in EFFECTS:
            problem = f"unknown effect {toleration.effect!r}; use {format_choice(EFFECTS)}"
            defects.append(Defect(f"{path}.effect", problem))
        content = (toleration.key, operator, toleration.value, toleration.effect)
        found[content] = pb.Toleration(
            key=toleration.key, operator=operator, value=toleration.value, effect=toleration.effect
        )
    return [found[content] for content in sorted(found)]


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


def feature_labels(declared: Iterable[str]) -> dict[str, str]:
    """Return the labels of a machine for those declared features of its node that pods may need."""
    return {f"{_FEATURE}{each}": "" for each in declared if each in (RESTART_ALL, USER_NAMESPACES)}


def list_node_feature_rules(spec: PodSpec) -> list[pb.VolumeRule]:
    """Return the rules for the node features that a pod needs; nearly always the list is empty."""
    needed = [
        pb.Requirement(key=f"{_FEATURE}{each}", operator="Exists") for each in _list_needed_labels(spec)
    ]
    return [pb.VolumeRule(terms=[pb.NodeSelectorTerm(labels=needed)], reason=REASON)] if needed else []


def _list_needed_labels(spec: PodSpec) -> Iterator[str]:
    containers = (*spec.containers, *spec.init_containers)
    if any(
        rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules
    ):
        yield RESTART_ALL
    if spec.host_network and spec.host_users is False:
        yield USER_NAMESPACES


def is_tolerated(taint: Taint | pb.Taint, tolerations: Iterable[Toleration | pb.Toleration]) -> bool:
    """Return whether one of the tolerations, of the API or the protocol, tolerates the taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def parse_compared_integer(text: str) -> int | None:
    """Return the integer that Gt and Lt compare, None if the text is none: only a minus sign, no leading zeros."""
    number = int(text) if _DECIMAL.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _tolerates(toleration: Toleration | pb.Toleration, taint: Taint | pb.Taint) -> bool:
    """Return whether a toleration covers a taint, as core/v1 ``Toleration.ToleratesTaint`` does."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and _matches(toleration, taint.value)


def _matches(toleration: Toleration | pb.Toleration, value: str) -> bool:
    """Return whether a taint's value equals the toleration's, or is above (Gt) or below (Lt) it (KEP-5471)."""
    if toleration.operator not in ("Gt", "Lt"):
        return toleration.value == value
    bound, found = parse_compared_integer(toleration.value), parse_compared_integer(value)
    if bound is None or found is None:
        return False
    return found > bound if toleration.operator == "Gt" else found < bound
