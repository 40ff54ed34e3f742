"""Finds which features a pod needs that kubelets declare, as rules about labels of machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from poseidon.kube.api.pods import PodSpec
from protos.firmament.v1 import scheduler_pb2 as pb

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
"""Names of features that kubelets declare and some pods need (KEP-5328, kube-scheduler's NodeDeclaredFeatures)."""

REASON = "node(s) didn't match Pod's required features"

_FEATURE = "status.declaredFeatures/"
"""Prefix of labels of machines for declared features.

No label of a node can begin like this, because prefixes are in lower case.
"""


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
