"""Features that kubelets declare and some pods need (KEP-5328, kube-scheduler's NodeDeclaredFeatures).

Nodes list in ``status.declaredFeatures`` what their kubelets can do, from Kubernetes 1.36 on unless it is turned off. A
pod needs those that its spec makes use of, as ``component-helpers/nodedeclaredfeatures`` infers; a node that declares
nothing does not get it. Other declared features are about resizing and streaming, and matter to no placement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.kube.api.core import PodSpec

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"

REASON = "node(s) didn't match Pod's required features"

_PREFIX = "status.declaredFeatures/"
"""No label of a node can begin like this: prefixes of labels are in lower case."""


def feature_labels(declared: Iterable[str]) -> dict[str, str]:
    """Return what a machine bears for the declared features of its node that pods may need."""
    return {f"{_PREFIX}{each}": "" for each in declared if each in (RESTART_ALL, USER_NAMESPACES)}


def feature_rules(spec: PodSpec) -> list[pb.VolumeRule]:
    """Return where the features are that a pod needs; nearly always nothing."""
    needed = [pb.Requirement(key=f"{_PREFIX}{each}", operator="Exists") for each in _needed(spec)]
    return [pb.VolumeRule(terms=[pb.NodeSelectorTerm(labels=needed)], reason=REASON)] if needed else []


def _needed(spec: PodSpec) -> Iterator[str]:
    containers = (*spec.containers, *spec.init_containers)
    if any(
        rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules
    ):
        yield RESTART_ALL
    if spec.host_network and spec.host_users is False:
        yield USER_NAMESPACES
