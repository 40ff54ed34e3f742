"""What quotas leave, from the definition, one quota after another; shares no code with what is tried against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.programs.simulation import workload
from tests.programs.simulation.api_server import Object

Use: TypeAlias = Mapping[tuple[str, str, str], int]
"""What is used, by queue, flavor and resource."""


@dataclass
class _Node:
    parent: str
    nominal: dict[tuple[str, str], int] = field(default_factory=dict)
    borrowing: dict[tuple[str, str], int] = field(default_factory=dict)
    lending: dict[tuple[str, str], int] = field(default_factory=dict)


class Quotas:
    """ClusterQueues and Cohorts as they are at one moment."""

    def __init__(self, queues: Mapping[str, Object], cohorts: Mapping[str, Object]) -> None:
        self.specs = dict(queues)
        self._nodes: dict[str, _Node] = {}
        for name, spec in cohorts.items():
            self._read(f"cohort {name}", spec, spec.get("parentName", ""))
        for name, spec in queues.items():
            self._read(name, spec, spec.get("cohortName", ""))
        for above in [each.parent for each in self._nodes.values()]:
            if above:
                self._nodes.setdefault(above, _Node(""))

    def _read(self, name: str, spec: Object, parent: str) -> None:
        node = self._nodes[name] = _Node(f"cohort {parent}" if parent else "")
        tables = {
            "nominalQuota": node.nominal,
            "borrowingLimit": node.borrowing,
            "lendingLimit": node.lending,
        }
        for group in spec["resourceGroups"]:
            for flavor in group["flavors"]:
                for stated in flavor["resources"]:
                    for key, table in tables.items():
                        if key in stated:
                            found = workload.amounts({stated["name"]: stated[key]})
                            table[flavor["name"], stated["name"]] = found[stated["name"]]

    def list_flavors(self, queue: str) -> list[str]:
        """Return the flavors that a queue speaks of."""
        return sorted({flavor for flavor, _ in self._nodes[queue].nominal})

    def available(self, queue: str, flavor: str, resource: str, use: Use) -> int:
        """Return what is left to a queue."""
        at = flavor, resource

        def children(node: str) -> list[str]:
            return [name for name, each in self._nodes.items() if each.parent == node]

        def subtree(node: str) -> int:
            return self._nodes[node].nominal.get(at, 0) + sum(
                subtree(each) - local(each) for each in children(node)
            )

        def local(node: str) -> int:
            lends = self._nodes[node].lending.get(at)
            return 0 if lends is None else max(0, subtree(node) - lends)

        def used(node: str) -> int:
            own = use.get((node, flavor, resource), 0)
            return own + sum(max(0, used(each) - local(each)) for each in children(node))

        def left(node: str) -> int:
            parent, most = self._nodes[node].parent, self._nodes[node].borrowing.get(at)
            if not parent:
                return subtree(node) - used(node)
            above = left(parent)
            if most is not None:
                above = min(above, subtree(node) - local(node) - max(0, used(node) - local(node)) + most)
            return max(0, local(node) - used(node)) + above

        return left(queue)

    def count(self, queue: str, asked: Mapping[str, int], use: Use) -> int:
        """Return how many tasks at most a queue has enough left for, each of its flavors by itself."""
        return sum(
            max(
                0,
                min(
                    self.available(queue, flavor, resource, use) // amount
                    for resource, amount in asked.items()
                ),
            )
            for flavor in self.list_flavors(queue)
        )

    def root_of(self, queue: str) -> str:
        """Return what is at the top of a queue's tree."""
        while self._nodes[queue].parent:
            queue = self._nodes[queue].parent
        return queue
