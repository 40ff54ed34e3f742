"""Imitates the DaemonSet controller: chooses nodes for a template, and completes the pod of each node.

The module only decides which pods of DaemonSets exist; the solver schedules them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pod_rules import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Toleration,
)
from poseidon.kube.api.pods import Pod, PodSpec
from poseidon.kube.api.workloads import PodTemplate
from poseidon.pod_rules.node_affinity import NAME_FIELD
from poseidon.pod_rules.taint_toleration import is_tolerated
from poseidon.volumes.matching import holds

_TOLERATED = (
    ("node.kubernetes.io/not-ready", ""),
    ("node.kubernetes.io/unreachable", ""),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
"""Taints, with effects ("" for all), that pods of DaemonSets tolerate.

Kubernetes' documentation promises that pods of DaemonSets run on nodes that are not ready or not reachable. Nodes
that are not ready or not reachable have these taints with the effects NoSchedule and NoExecute.
"""
_TOLERATED_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def admits(spec: PodSpec, node: Node) -> bool:
    """Return whether node name, node selector, required affinity and taints allow the pod to run on the node."""
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
        taint.effect == "PreferNoSchedule" or is_tolerated(taint, spec.tolerations)
        for taint in node.spec.taints
    )


def matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Return whether a node fulfils all conditions of a term; a term without conditions matches no node."""
    fields = {NAME_FIELD: node.metadata.name}
    conditions = [(each, node.metadata.labels) for each in term.match_expressions]
    conditions += [(each, fields) for each in term.match_fields]
    return bool(conditions) and all(
        holds((each.key, each.operator, each.values), given) for each, given in conditions
    )


def nodes_of(template: PodTemplate, nodes: Iterable[Node]) -> list[str]:
    """Return the sorted names of the nodes that should run a pod of the template."""
    spec = _tolerant(template.spec)
    return sorted(node.metadata.name for node in nodes if admits(spec, node))


def daemon_template(template: PodTemplate, node: str) -> PodTemplate:
    """Return the pod template for one node of a DaemonSet.

    As the controller does, the function replaces required affinity by the node's name, and keeps node selector and
    preferred affinity.
    """
    spec = _tolerant(template.spec)
    by_name = NodeSelectorRequirement(key=NAME_FIELD, operator="In", values=(node,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(by_name,)),))
    affinity = spec.affinity or Affinity()
    node_affinity = replace(affinity.node_affinity or NodeAffinity(), required=required)
    return replace(
        template, spec=replace(spec, node_name="", affinity=replace(affinity, node_affinity=node_affinity))
    )


def node_of(pod: Pod) -> str:
    """Return the node of a DaemonSet's pod: the node where it runs, else the node that its affinity names, else ""."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
        for requirement in term.match_fields:
            if (
                requirement.key == NAME_FIELD
                and requirement.operator == "In"
                and len(requirement.values) == 1
            ):
                return requirement.values[0]
    return ""


def _tolerant(spec: PodSpec) -> PodSpec:
    wanted = (*_TOLERATED, _TOLERATED_ON_HOST_NETWORK) if spec.host_network else _TOLERATED
    added = (Toleration(key=key, operator="Exists", effect=effect) for key, effect in wanted)
    return replace(spec, tolerations=(*spec.tolerations, *added))
