"""Translates topology spread constraints into rules between tasks."""

from __future__ import annotations

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_rules import TopologySpreadConstraint
from poseidon.kube.api.pods import PodSpec
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import (
    drop_repeated,
    format_choice,
    parse_requirements,
)
from poseidon.pod_rules.match_label_keys import parse_match_label_keys
from poseidon.pod_rules.pod_affinity import topology_key_defects
from protos.firmament.v1 import scheduler_pb2 as pb

UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")

_LARGEST = 2**31 - 1


def spread_rules(spec: PodSpec, metadata: ObjectMeta, defects: list[Defect]) -> list[pb.SpreadRule]:
    """Return the spread rules of a pod.

    Constraints without a selector of namespaces count pods of the pod's own namespace; with an empty selector, they
    count no pods.
    """
    found = []
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(spec.topology_spread_constraints):
        path = f"spec.topologySpreadConstraints[{index}]"
        faults = _defects(constraint, path)
        identity = (constraint.topology_key, constraint.when_unsatisfiable)
        if identity in seen:
            problem = (
                f"{constraint.topology_key!r} with {constraint.when_unsatisfiable} is given twice; remove one"
            )
            faults.append(Defect(f"{path}.topologyKey", problem))
        seen.add(identity)
        defects.extend(faults)
        selector = _selector(constraint, path, metadata, defects)
        if not faults:
            found.append(_rule(constraint, selector))
    return found  # The rules are in the pod's order, in which kube-scheduler checks them.


def _rule(constraint: TopologySpreadConstraint, selector: pb.TaskSelector) -> pb.SpreadRule:
    least = constraint.min_domains or 0
    return pb.SpreadRule(
        topology_key=constraint.topology_key,
        selector=selector,
        max_skew=constraint.max_skew,
        required=constraint.when_unsatisfiable == "DoNotSchedule",
        min_domains=least if least > 1 else 0,  # Every rule needs at least one domain anyway.
        ignore_node_affinity=constraint.node_affinity_policy == "Ignore",
        honor_taints=constraint.node_taints_policy == "Honor",
    )


def _selector(
    constraint: TopologySpreadConstraint, path: str, metadata: ObjectMeta, defects: list[Defect]
) -> pb.TaskSelector:
    given = constraint.label_selector
    added = parse_match_label_keys(given, metadata.labels, path, defects, match=constraint.match_label_keys)
    if given is None:
        return pb.TaskSelector(nothing=True)
    labels = drop_repeated([*parse_requirements(given, f"{path}.labelSelector", defects), *added])
    if not labels:  # kube-scheduler's countPodsMatchSelector counts no pods for an empty selector
        return pb.TaskSelector(nothing=True)
    return pb.TaskSelector(labels=labels, namespaces=[metadata.namespace or "default"])


def _defects(constraint: TopologySpreadConstraint, path: str) -> list[Defect]:
    found = topology_key_defects(constraint.topology_key, path)
    if not 1 <= constraint.max_skew <= _LARGEST:
        found.append(Defect(f"{path}.maxSkew", f"{constraint.max_skew} is out of range; give 1 or more"))
    if constraint.when_unsatisfiable not in UNSATISFIABLE:
        problem = f"unknown value {constraint.when_unsatisfiable!r}; use {format_choice(UNSATISFIABLE)}"
        found.append(Defect(f"{path}.whenUnsatisfiable", problem))
    if constraint.min_domains is not None:
        if not 1 <= constraint.min_domains <= _LARGEST:
            problem = f"{constraint.min_domains} is out of range; give 1 or more"
            found.append(Defect(f"{path}.minDomains", problem))
        if constraint.when_unsatisfiable == "ScheduleAnyway":
            problem = "only whenUnsatisfiable: DoNotSchedule takes it; remove it"
            found.append(Defect(f"{path}.minDomains", problem))
    for field, policy in (
        ("nodeAffinityPolicy", constraint.node_affinity_policy),
        ("nodeTaintsPolicy", constraint.node_taints_policy),
    ):
        if policy and policy not in POLICIES:
            found.append(
                Defect(f"{path}.{field}", f"unknown policy {policy!r}; use {format_choice(POLICIES)}")
            )
    return found
