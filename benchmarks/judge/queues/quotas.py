"""Counts what quotas leave directly from their definition, node by node, without code of the solver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchmarks.judge.queues.cases import Case, Use

Key: TypeAlias = tuple[str, str]
"""A flavor and a resource."""


@dataclass(slots=True)
class _Node:
    parent: str
    nominal: dict[Key, int] = field(default_factory=dict)
    borrowing: dict[Key, int] = field(default_factory=dict)
    lending: dict[Key, int] = field(default_factory=dict)


def _read(spec: Mapping[str, Any], parent: str) -> _Node:
    node = _Node(f"cohort {parent}" if parent else "")
    tables = (
        ("nominalQuota", node.nominal),
        ("borrowingLimit", node.borrowing),
        ("lendingLimit", node.lending),
    )
    for group in spec.get("resourceGroups") or ():
        for flavor in group["flavors"]:
            for stated in flavor.get("resources") or ():
                for name, table in tables:
                    if stated.get(name) is not None:
                        table[flavor["name"], stated["name"]] = int(stated[name])
    return node


class QuotaCount:
    """The quotas of a case, and what is used of them by queue, flavor and resource."""

    def __init__(self, case: Case) -> None:
        self._nodes = {
            f"cohort {name}": _read(spec, spec.get("parentName") or "") for name, spec in case.cohorts.items()
        }
        for name, spec in case.queues.items():
            self._nodes[name] = _read(spec, spec.get("cohortName") or spec.get("cohort") or "")
        for above in [each.parent for each in self._nodes.values()]:
            if above:
                self._nodes.setdefault(above, _Node(""))
        self._below: dict[str, list[str]] = defaultdict(list)
        for name, each in self._nodes.items():
            self._below[each.parent].append(name)
        self._use: dict[str, dict[Key, int]] = defaultdict(lambda: defaultdict(int))

    def book(self, queue: str, use: Use, sign: int = 1) -> None:
        """Add amounts to the use of a queue's quota, or subtract them if ``sign`` is -1."""
        for flavor, amounts in use.items():
            for resource, amount in amounts.items():
                self._use[queue][flavor, resource] += sign * amount

    def count_left(self, node: str, key: Key) -> int:
        """Return what is left to a node, negative if it uses more than it may."""
        found = self._nodes[node]
        if not found.parent:
            return self._get_own(node, key) - self._get_used(node, key)
        local, own, used = self._get_local(node, key), self._get_own(node, key), self._get_used(node, key)
        above = self.count_left(found.parent, key)
        most = found.borrowing.get(key)
        if most is not None:
            above = min(above, own - local - max(0, used - local) + most)
        return max(0, local - used) + above

    def count_borrowed(self, node: str, key: Key) -> int:
        """Return how much more a node uses than its own amount and that of the nodes below it."""
        return max(0, self._get_used(node, key) - self._get_own(node, key))

    def list_above(self, node: str) -> list[str]:
        """Return a node, its parent, and so on."""
        found = [node]
        while self._nodes[found[-1]].parent:
            found.append(self._nodes[found[-1]].parent)
        return found

    def sum_borrowed(self) -> int:
        """Return what all queues together have borrowed."""
        return sum(
            self.count_borrowed(name, key)
            for name, each in self._nodes.items()
            if not self._below.get(name)
            for key in each.nominal.keys() | self._use[name].keys()
        )

    def _get_own(self, node: str, key: Key) -> int:
        below = sum(self._get_own(each, key) - self._get_local(each, key) for each in self._below[node])
        return self._nodes[node].nominal.get(key, 0) + below

    def _get_local(self, node: str, key: Key) -> int:
        lends = self._nodes[node].lending.get(key)
        return 0 if lends is None else max(0, self._get_own(node, key) - lends)

    def _get_used(self, node: str, key: Key) -> int:
        below = (self._get_used(each, key) - self._get_local(each, key) for each in self._below[node])
        return self._use[node][key] + sum(max(0, each) for each in below)


def iterate_keys(use: Use) -> Iterator[Key]:
    """Yield each flavor and resource of which something is used."""
    for flavor, amounts in use.items():
        for resource, amount in amounts.items():
            if amount:
                yield flavor, resource


def count_in_case(case: Case, gone: Iterable[str] = ()) -> QuotaCount:
    """Return the quotas of a case with what runs, without the workloads ``gone``."""
    count, left_out = QuotaCount(case), {*gone}
    for each in case.workloads:
        if each.use is not None and each.name not in left_out:
            count.book(each.queue, each.use)
    return count
