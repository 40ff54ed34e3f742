"""Parts of random clusters: plain Kubernetes objects, and names that several modules share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Object = dict[str, Any]
Item = TypeVar("Item")

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
GPU = "example.com/gpu"
OURS, JUDGE = "poseidon", "default-scheduler"

NAMESPACES: dict[str, dict[str, str]] = {
    "red": {"team": "red", "stage": "production"},
    "blue": {"team": "blue", "stage": "production"},
    "green": {"team": "green"},
}
"""Namespaces of all clusters, with their labels; they stay when a cluster is removed."""

APPS = ("web", "db", "cache", "queue")
TIERS = ("front", "back")


@dataclass
class RandomCluster:
    """A cluster: ``scaffold`` holds objects that pods refer to, in order of creation; ``running`` pods have a node
    already, ``waiting`` ones have none.
    """

    seed: int
    nodes: list[Object] = field(default_factory=list)
    scaffold: list[Object] = field(default_factory=list)
    running: list[Object] = field(default_factory=list)
    waiting: list[Object] = field(default_factory=list)

    def objects(self) -> list[Object]:
        """Return all objects, in an order in which an API server accepts them."""
        return [*self.nodes, *self.scaffold, *self.running, *self.waiting]


def chance(draw: random.Random, share: float) -> bool:
    """Return True with the probability ``share``."""
    return draw.random() < share


def some(draw: random.Random, items: Sequence[Item], most: int) -> list[Item]:
    """Return one to ``most`` of the items, each at most once."""
    return draw.sample(list(items), draw.randint(1, min(most, len(items))))


def make_object(kind: str, name: str, version: str = "v1", **content: Any) -> Object:
    """Return an object without a namespace."""
    return dict(content, apiVersion=version, kind=kind, metadata={"name": name})


def key_of(pod: Object) -> str:
    """Return ``namespace/name``."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def expression(key: str, operator: str, *values: str) -> Object:
    """Return a requirement on labels or fields."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
