"""Says of one pod and one node which of the placement rules of core/v1 would be broken: one loop per rule.

The rules are kube-scheduler's filters, in its order, stated as plainly as possible and without regard to speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from tests.programs.differential.world import (
    Cluster,
    HostPort,
    Node,
    NodeTerm,
    PodSpec,
    PodTerm,
    Requirement,
    Spread,
    Taint,
    Toleration,
)


class Rule(Enum):
    """A rule that a placement can break."""

    CORDON = "cordon"
    NODE_NAME = "node name"
    TAINT = "taint"
    NOT_READY = "not ready"
    NODE_AFFINITY = "node affinity"
    FEATURES = "features of the kubelet"
    PORTS = "ports"
    RESOURCES = "resources"
    VOLUMES = "volumes"
    SPREAD_KEY = "spread: key missing"
    SPREAD = "spread"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    EXISTING_ANTI_AFFINITY = "anti-affinity of another pod"


CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


def broken_rules(cluster: Cluster, spec: PodSpec, name: str) -> list[Rule]:
    """The rules that a pod of ``spec`` would break on node ``name``, now; none means that the node accepts it."""
    node = cluster.nodes[name]
    broken = list(broken_by_node(spec, node))
    if not _ports_are_free(cluster, spec, node):
        broken.append(Rule.PORTS)
    if not _fits(cluster, spec, node):
        broken.append(Rule.RESOURCES)
    broken.extend(_broken_spreads(cluster, spec, node))
    if spec.affinity and not _affinity_holds(cluster, spec, node):
        broken.append(Rule.AFFINITY)
    if not _anti_affinity_holds(cluster, spec, node):
        broken.append(Rule.ANTI_AFFINITY)
    if not _others_tolerate(cluster, spec, node):
        broken.append(Rule.EXISTING_ANTI_AFFINITY)
    return broken


def accepting_nodes(cluster: Cluster, spec: PodSpec) -> list[str]:
    """Names of the nodes that would accept a pod of ``spec`` now."""
    return [name for name in cluster.nodes if not broken_rules(cluster, spec, name)]


# --- the node by itself ----------------------------------------------------------------------------------------------


def broken_by_node(spec: PodSpec, node: Node) -> Iterable[Rule]:
    """Rules that need nothing but the node itself."""
    if node.unschedulable and not tolerated(spec.tolerations, CORDON):
        yield Rule.CORDON
    if spec.node_name not in ("", node.name):
        yield Rule.NODE_NAME
    if untolerated(spec.tolerations, node.taints):
        yield Rule.TAINT
    if node.not_ready and not tolerated(spec.tolerations, NOT_READY):
        yield Rule.NOT_READY
    if not node_affinity_admits(spec, node):
        yield Rule.NODE_AFFINITY
    if not spec.features <= node.features:
        yield Rule.FEATURES
    for volume in spec.volumes:
        if not any(term_matches(term, node) for term in volume):
            yield Rule.VOLUMES


def node_affinity_admits(spec: PodSpec, node: Node) -> bool:
    """nodeSelector and required node affinity: both must hold."""
    for key, value in spec.node_selector.items():
        if node.labels.get(key) != value:
            return False
    return spec.node_terms is None or any(term_matches(term, node) for term in spec.node_terms)


def term_matches(term: NodeTerm, node: Node) -> bool:
    """All requirements hold; a term without any matches nothing."""
    if not term.labels and not term.fields:
        return False
    return meets_all(term.labels, node.labels) and meets_all(term.fields, {"metadata.name": node.name})


def meets_all(requirements: Iterable[Requirement], labels: dict[str, str]) -> bool:
    """Whether labels meet every requirement; none at all are met by everything."""
    return all(_meets(requirement, labels.get(requirement.key)) for requirement in requirements)


def _meets(requirement: Requirement, value: str | None) -> bool:
    operator, values = requirement.operator, requirement.values
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if value is None or not re.fullmatch(r"[+-]?[0-9]+", value):
        return False
    return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])


def untolerated(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> bool:
    """Whether some taint keeps the pod away."""
    return any(
        taint.effect in ("NoSchedule", "NoExecute") and not tolerated(tolerations, taint) for taint in taints
    )


def tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether some toleration covers the taint."""
    for toleration in tolerations:
        if toleration.effect not in ("", taint.effect):
            continue
        if toleration.key not in ("", taint.key):
            continue
        if toleration.operator == "Exists" or (
            toleration.key and _value_is_tolerated(toleration, taint.value)
        ):
            return True
    return False


def _value_is_tolerated(toleration: Toleration, value: str) -> bool:
    """Gt and Lt compare whole numbers; a value that is none is not tolerated."""
    if toleration.operator not in ("Gt", "Lt"):
        return toleration.value == value
    if not all(re.fullmatch("-?[0-9]+", each) for each in (toleration.value, value)):
        return False
    above = int(value) - int(toleration.value)
    return above > 0 if toleration.operator == "Gt" else above < 0


# --- what is taken on the node ---------------------------------------------------------------------------------------


def _ports_are_free(cluster: Cluster, spec: PodSpec, node: Node) -> bool:
    for pod, at in cluster.located():
        if at.name == node.name and any(ports_clash(a, b) for a in spec.ports for b in pod.spec.ports):
            return False
    return True


def ports_clash(one: HostPort, other: HostPort) -> bool:
    """The same port and protocol, on the same address or one of them on all addresses."""
    if (one.port, one.protocol) != (other.port, other.protocol):
        return False
    return one.ip == other.ip or "" in (one.ip, other.ip)


def _fits(cluster: Cluster, spec: PodSpec, node: Node) -> bool:
    here = [pod.spec for pod, at in cluster.located() if at.name == node.name]
    if len(here) + 1 > node.allocatable.get("pods", 0):
        return False
    for resource, amount in spec.requests.items():
        used = sum(other.requests.get(resource, 0) for other in here)
        if amount > 0 and used + amount > node.allocatable.get(resource, 0):
            return False
    return True


# --- topology spread -------------------------------------------------------------------------------------------------


def _broken_spreads(cluster: Cluster, spec: PodSpec, node: Node) -> Iterable[Rule]:
    rules = [rule for rule in spec.spreads if rule.do_not_schedule]
    if any(rule.key not in node.labels for rule in rules):
        yield Rule.SPREAD_KEY
        return
    for rule in rules:
        counts = spread_counts(cluster, spec, rule)
        fewest = min(counts.values(), default=0)
        if len(counts) < rule.min_domains:
            fewest = 0
        itself = rule.selector is not None and meets_all(rule.selector, spec.labels)
        if counts.get(node.labels[rule.key], 0) + itself - fewest > rule.max_skew:
            yield Rule.SPREAD


def spread_counts(cluster: Cluster, spec: PodSpec, rule: Spread) -> dict[str, int]:
    """Pods that count, per domain: over nodes that have the keys of all hard rules and that the policies include.

    As in kube-scheduler, an empty selector, unlike its word, counts no pod.
    """
    keys = [each.key for each in spec.spreads if each.do_not_schedule]
    domain_of: dict[str, str] = {}
    for node in cluster.nodes.values():
        if any(key not in node.labels for key in keys):
            continue
        if rule.honor_affinity and not node_affinity_admits(spec, node):
            continue
        if rule.honor_taints and untolerated(spec.tolerations, node.taints):
            continue
        domain_of[node.name] = node.labels[rule.key]
    counts = dict.fromkeys(domain_of.values(), 0)
    for pod, at in cluster.located():
        if at.name not in domain_of or pod.terminating or pod.spec.namespace != spec.namespace:
            continue
        if rule.selector and meets_all(rule.selector, pod.spec.labels):
            counts[domain_of[at.name]] += 1
    return counts


# --- affinity between pods -------------------------------------------------------------------------------------------


def selects(cluster: Cluster, term: PodTerm, spec: PodSpec) -> bool:
    """Whether a term means pods of ``spec``."""
    by_label = term.namespace_selector
    if spec.namespace not in term.namespaces:
        if by_label is None:
            return False
        known = cluster.namespaces.get(spec.namespace)
        if by_label and (known is None or not meets_all(by_label, known)):
            return False
    return term.selector is not None and meets_all(term.selector, spec.labels)


def selects_all(cluster: Cluster, terms: Sequence[PodTerm], spec: PodSpec) -> bool:
    """Whether every one of the terms means pods of ``spec``."""
    return all(selects(cluster, term, spec) for term in terms)


def _affinity_holds(cluster: Cluster, spec: PodSpec, node: Node) -> bool:
    """Every term's domain holds a pod that *all* terms mean; the first pod of a group that means itself is free."""
    if any(term.key not in node.labels for term in spec.affinity):
        return False
    domains = {
        (term.key, at.labels[term.key])
        for pod, at in cluster.located()
        if selects_all(cluster, spec.affinity, pod.spec)
        for term in spec.affinity
        if term.key in at.labels
    }
    if all((term.key, node.labels[term.key]) in domains for term in spec.affinity):
        return True
    return not domains and selects_all(cluster, spec.affinity, spec)


def _anti_affinity_holds(cluster: Cluster, spec: PodSpec, node: Node) -> bool:
    return not any(
        same_domain(term.key, node, at) and selects(cluster, term, pod.spec)
        for term in spec.anti_affinity
        for pod, at in cluster.located()
    )


def _others_tolerate(cluster: Cluster, spec: PodSpec, node: Node) -> bool:
    """No pod on the cluster, whoever placed it, keeps pods of ``spec`` out of its domain."""
    return not any(
        same_domain(term.key, node, at) and selects(cluster, term, spec)
        for pod, at in cluster.located()
        for term in pod.spec.anti_affinity
    )


def same_domain(key: str, one: Node, other: Node) -> bool:
    """Both nodes have the label, with the same value."""
    return key in one.labels and one.labels[key] == other.labels.get(key)
