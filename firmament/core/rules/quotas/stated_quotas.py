"""Keeps the quotas and flavors that records state, as arrays, and finds what tasks of a class take of their quota."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import Draw, DrawGroup
from firmament.core.constraints.quota_tree import UNBOUNDED, QuotaTree
from firmament.core.model import PODS, TaskClass
from firmament.core.record_kinds import FLAVOR_RECORD, QUOTA_RECORD
from firmament.core.rules.quotas.records import (
    RECLAIM,
    WITHIN,
    Amounts,
    FlavorGroup,
    QuotaPreemption,
    StatedFlavor,
    StatedQuota,
    read_flavors,
    read_quotas,
)
from firmament.core.rules.taint_toleration import mark_tolerated, tolerates
from firmament.core.state.cluster import Cluster

QUEUE = ("queue",)
"""The field of a class that names the queue whose quota its tasks use."""


MOST_DRAWS = 100_000
"""The most draws (what a task takes of its quota) that are cached; classes come and go while records stay."""


@dataclass(frozen=True)
class StatedQuotas:
    """The quotas and flavors that the records state, by name and as arrays."""

    quotas: dict[str, StatedQuota]
    """The quotas by name, including quotas with a fault."""
    flavors: dict[str, StatedFlavor]
    """The flavors by name."""
    known: dict[str, tuple[bytes, StatedQuota]] = field(default_factory=dict)
    """What ``read_quotas`` remembers of the payloads, to read only those that change."""

    @cached_property
    def nodes(self) -> list[StatedQuota]:
        """The quotas without fault, each after its parent."""
        sound = [quota for quota in self.quotas.values() if not quota.fault]
        return sorted(sound, key=lambda quota: (len(self._path(quota)), quota.name))

    def _path(self, quota: StatedQuota) -> list[str]:
        above = [quota.name]
        while quota.parent:
            quota = self.quotas[quota.parent]
            above.append(quota.name)
        return above

    def root_of(self, name: str) -> str:
        """Return the name of the quota at the top of a quota's tree; "" if the quota is unknown, or has a fault."""
        quota = self.quotas.get(name)
        return "" if quota is None or quota.fault else self._path(quota)[-1]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row in ``nodes`` of each quota without fault, by name."""
        return {quota.name: row for row, quota in enumerate(self.nodes)}

    @cached_property
    def any_strict(self) -> bool:
        """Whether tasks of some valid quota get places strictly in their order (StrictFIFO)."""
        return any(quota.strict for quota in self.nodes)

    @cached_property
    def columns(self) -> dict[tuple[str, str], int]:
        """The column of each (flavor, resource) pair that some quota states."""
        stated = {
            (flavor, resource)
            for quota in self.nodes
            for group in quota.groups
            for flavor in group.flavors
            for resource in group.resources
        }
        for quota in self.nodes:
            stated |= quota.nominal.keys()
        return {pair: column for column, pair in enumerate(sorted(stated))}

    @cached_property
    def flavor_names(self) -> tuple[str, ...]:
        """The names of the flavors that occur in ``columns``, each once."""
        return tuple(dict.fromkeys(flavor for flavor, _ in self.columns))

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """The names of the resources that occur in ``columns``, each once."""
        return tuple(dict.fromkeys(resource for _, resource in self.columns))

    @cached_property
    def tree(self) -> QuotaTree:
        """The quotas as a tree."""
        parent = np.array([self.row_of.get(quota.parent, -1) for quota in self.nodes], dtype=np.int64)

        def fill(name: str, absent: int) -> Int64:
            table = np.full((len(self.nodes), len(self.columns)), absent, dtype=np.int64)
            for row, quota in enumerate(self.nodes):
                amounts: Amounts = getattr(quota, name)
                for pair, amount in amounts.items():
                    if pair in self.columns:
                        table[row, self.columns[pair]] = amount
            return table

        return QuotaTree.build(
            parent,
            fill("nominal", 0),
            fill("lending", UNBOUNDED),
            fill("borrowing", UNBOUNDED),
            fill("limit", UNBOUNDED),
            fill("guarantee", 0),
        )

    @cached_property
    def stated(self) -> Bool:
        """bool[N, J], whether a quota states a nominal amount for the column."""
        table = np.zeros((len(self.nodes), len(self.columns)), dtype=np.bool_)
        for row, quota in enumerate(self.nodes):
            table[row, [self.columns[pair] for pair in quota.nominal]] = True
        return table

    @cached_property
    def faulty(self) -> dict[str, StatedQuota]:
        """The quotas with a fault, by name."""
        return {name: quota for name, quota in self.quotas.items() if quota.fault}

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The fields of `QuotaTerms` that depend on records alone."""
        nodes = self.nodes
        return {
            "tree": self.tree,
            "names": tuple(quota.name for quota in nodes),
            "columns": tuple(self.columns),
            "flavor": _find_places([flavor for flavor, _ in self.columns], self.flavor_names),
            "resource": _find_places([resource for _, resource in self.columns], self.resource_names),
            "weight": np.array([quota.weight for quota in nodes], dtype=np.float64),
            "fair": np.array([quota.fair for quota in nodes], dtype=np.bool_),
            "strict": np.array([quota.strict for quota in nodes], dtype=np.bool_),
            "sparing": tuple(quota.sparing for quota in nodes),
            "evicts_first": tuple(quota.evicts_first for quota in nodes),
            "evicts_before_borrowing": tuple(quota.evicts_before_borrowing for quota in nodes),
            "same_flavor": tuple(quota.same_flavor for quota in nodes),
            "within_quota": tuple(not quota.preemption.beyond_quota for quota in nodes),
            "keeps_borrowed": tuple(not quota.reclaimable for quota in nodes),
            **_encode_policies([quota.preemption for quota in nodes]),
        }

    @cached_property
    def _draws(self) -> dict[tuple[object, ...], Draw]:
        """The draws (what a task takes of its quota) found so far, by all parts of a class on which they depend."""
        return {}

    def find_draw(self, content: TaskClass) -> Draw:
        """Return what a task of a class takes of its queue's quota, or why the queue admits no such task."""
        key = content.queue, content.requests, mark_tolerated(content), content.flavor_group
        found = self._draws.get(key)
        if found is None:
            if len(self._draws) >= MOST_DRAWS:
                self._draws.clear()
                self._draw_groups.clear()
            found = self._draws[key] = self._build_draw(content)
        return found

    def _build_draw(self, content: TaskClass) -> Draw:
        quota = self.quotas.get(content.queue)
        if quota is None:
            return Draw(-1, refused=f"quota: queue {content.queue} does not exist")
        if quota.fault:
            return Draw(-1, refused=f"quota: queue {content.queue} admits nobody ({quota.fault})")
        asked = {resource: amount for resource, amount in content.requests if amount > 0}
        groups = tuple(
            self._find_draw_group(number, group, asked, content)
            for number, group in enumerate(quota.groups)
            if not asked.keys().isdisjoint(group.resources)
        )
        beyond = sorted(asked.keys() - {PODS}.union(*(group.resources for group in quota.groups)))
        node = self.row_of[quota.name]
        if beyond and not quota.uncovered:
            return Draw(node, groups, f"quota: queue {content.queue} has no flavor for {beyond[0]}")
        if not all(group.flavors for group in groups):
            return Draw(node, groups, f"quota: no flavor of queue {content.queue} is for such a task")
        return Draw(node, groups, together=content.flavor_group)

    @cached_property
    def _draw_groups(self) -> dict[tuple[object, ...], DrawGroup]:
        """The requests for one group found so far, by all on which they depend; queues with equal groups share them."""
        return {}

    def _find_draw_group(
        self, number: int, group: FlavorGroup, requests: Mapping[str, int], content: TaskClass
    ) -> DrawGroup:
        """Return what a task with these ``requests`` takes of the resources of one group of its queue."""
        amounts = tuple([(name, requests[name]) for name in group.resources if name in requests])
        key = number, group.flavors, amounts, mark_tolerated(content)
        found = self._draw_groups.get(key)
        if found is None:
            found = self._draw_groups[key] = self._build_draw_group(number, group, dict(amounts), content)
        return found

    def _build_draw_group(
        self, number: int, group: FlavorGroup, asked: Mapping[str, int], content: TaskClass
    ) -> DrawGroup:
        known = [
            name for name in group.flavors if name in self.flavors and self._tolerates_flavor(name, content)
        ]
        return DrawGroup(
            tuple(self.flavor_names.index(name) for name in known),
            tuple(tuple(self.columns[name, resource] for resource in asked) for name in known),
            tuple(asked.values()),
            number,
        )

    def _tolerates_flavor(self, name: str, content: TaskClass) -> bool:
        """Return whether tasks of a class tolerate the taints of the flavor ``name``."""
        return all(tolerates(content, taint) for taint in self.flavors[name].marks)


def read_stated_quotas(cluster: Cluster) -> StatedQuotas:
    """Return the quotas of a cluster; only those whose records have changed are read again."""

    def read(before: StatedQuotas | None) -> StatedQuotas:
        payloads = cluster.records.payloads
        known = before.known if before else {}
        quotas = read_quotas(payloads.get(QUOTA_RECORD, {}), known)
        return StatedQuotas(quotas, read_flavors(payloads.get(FLAVOR_RECORD, {})), known)

    return cluster.records.read((QUOTA_RECORD, FLAVOR_RECORD), read)


def _find_places(names: Sequence[str], among: Sequence[str]) -> Int64:
    row_of = {name: row for row, name in enumerate(among)}
    return np.array([row_of[name] for name in names], dtype=np.int64)


def _encode_policies(stated: Sequence[QuotaPreemption]) -> dict[str, Any]:
    """Return the preemption policies of all quotas as arrays, by name of the field of `QuotaTerms`."""
    endless = np.iinfo(np.int64).max
    thresholds = [endless if each.threshold is None else each.threshold for each in stated]
    return {
        "within": np.array([WITHIN.index(each.within) for each in stated], dtype=np.int64),
        "reclaim": np.array([RECLAIM.index(each.reclaim) for each in stated], dtype=np.int64),
        "borrows": np.array([each.borrow != "Never" for each in stated], dtype=np.bool_),
        "threshold": np.array(thresholds, dtype=np.int64),
        "strategies": tuple(each.strategies for each in stated),
    }
