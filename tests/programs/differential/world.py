"""A cluster as Kubernetes would list it: nodes, namespaces, pods. Plain values; nothing of the core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Requirement(NamedTuple):
    """``key operator values`` on labels or fields."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Taint(NamedTuple):
    """core/v1 Taint."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """core/v1 Toleration."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class HostPort(NamedTuple):
    """A port of the node; ``ip`` "" is 0.0.0.0."""

    port: int
    protocol: str = "TCP"
    ip: str = ""


@dataclass(frozen=True)
class NodeTerm:
    """core/v1 NodeSelectorTerm."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class PodTerm:
    """core/v1 PodAffinityTerm; ``selector`` None is an absent labelSelector, ``namespace_selector`` likewise."""

    key: str
    selector: tuple[Requirement, ...] | None
    namespaces: tuple[str, ...]
    namespace_selector: tuple[Requirement, ...] | None = None
    weight: int = 0


@dataclass(frozen=True)
class Spread:
    """core/v1 TopologySpreadConstraint."""

    key: str
    selector: tuple[Requirement, ...] | None
    max_skew: int = 1
    do_not_schedule: bool = True
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


@dataclass(frozen=True)
class PodSpec:
    """What pods of one template have in common.

    ``node_terms`` None: no required node affinity. ``features``: those that a kubelet must declare.
    """

    name: str
    namespace: str = "default"
    labels: dict[str, str] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    node_terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    ports: tuple[HostPort, ...] = ()
    volumes: tuple[tuple[NodeTerm, ...], ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spreads: tuple[Spread, ...] = ()
    preferred_nodes: tuple[tuple[int, NodeTerm], ...] = ()
    preferred_affinity: tuple[PodTerm, ...] = ()
    preferred_anti_affinity: tuple[PodTerm, ...] = ()
    features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Node:
    """A node; ``unschedulable`` is a cordon, ``not_ready`` what its condition says, ``features`` what it declares."""

    name: str
    allocatable: dict[str, int]
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    not_ready: bool = False
    features: frozenset[str] = frozenset()


class Pod(NamedTuple):
    """A pod on a node."""

    spec: PodSpec
    node: str
    terminating: bool = False


@dataclass
class Cluster:
    """``pods`` by uid: those that have a node. ``namespaces``: labels by name."""

    nodes: dict[str, Node]
    pods: dict[str, Pod] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)

    def located(self) -> Iterator[tuple[Pod, Node]]:
        """Pods whose node is there, with it."""
        for pod in self.pods.values():
            if pod.node in self.nodes:
                yield pod, self.nodes[pod.node]

    def copy(self) -> Cluster:
        """A cluster of its own with the same content."""
        return Cluster(dict(self.nodes), dict(self.pods), dict(self.namespaces))


@dataclass
class Case:
    """A cluster and the pods that wait, all of the same priority and age: their specs by uid."""

    seed: int
    cluster: Cluster
    waiting: dict[str, PodSpec]
