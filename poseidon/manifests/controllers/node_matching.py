"""Which nodes a pod's selectors and tolerations admit, as the DaemonSet controller judges it.

Scheduling proper happens in the solver; this is only about which DaemonSet pods come into being.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.pod_rules.node_affinity import tolerated

if TYPE_CHECKING:
    from poseidon.kube.api.core import (
        Node,
        NodeSelectorRequirement,
        NodeSelectorTerm,
        PodSpec,
    )


def admits(spec: PodSpec, node: Node) -> bool:
    """Whether node name, node selector, required affinity and hard taints let the pod run on the node."""
    name, labels = node.metadata.name, node.metadata.labels
    if spec.node_name and spec.node_name != name:
        return False
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    if required and not any(matches(term, node) for term in required.node_selector_terms):
        return False
    return all(
        taint.effect == "PreferNoSchedule" or tolerated(taint, spec.tolerations) for taint in node.spec.taints
    )


def matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Whether all conditions of a term hold on a node; a term without conditions matches nothing."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node.metadata.name}
    return all(_holds(each, node.metadata.labels) for each in term.match_expressions) and all(
        _holds(each, fields) for each in term.match_fields
    )


def _holds(requirement: NodeSelectorRequirement, given: dict[str, str]) -> bool:
    value = given.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return value is not None and _compares(requirement.operator, value, requirement.values)


def _compares(operator: str, value: str, values: tuple[str, ...]) -> bool:
    """Gt and Lt compare integers; a label that is none satisfies neither."""
    try:
        left, right = int(value), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right
