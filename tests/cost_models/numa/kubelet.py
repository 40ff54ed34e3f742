"""A kubelet's Topology Manager, one pod and one container at a time: slow, obvious, and written from its documentation.

Static cpu manager, static memory manager, device manager; guaranteed pods with whole cpus. Each manager proposes every
set of zones that has room for the request, and prefers the smallest sets that could ever hold it. The merged hint is
taken over all combinations of one proposal per manager: the intersection; preferred if all are preferred and the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product

Amounts = dict[str, int]


@dataclass
class Kubelet:
    """One node: ``total`` and ``free`` by zone number, then resource."""

    policy: str
    scope: str
    total: dict[int, Amounts]
    free: dict[int, Amounts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.free:
            self.free = {zone: dict(amounts) for zone, amounts in self.total.items()}

    def admits(self, containers: list[Amounts]) -> bool:
        """Whether a pod would be admitted now; nothing changes."""
        before = {zone: dict(amounts) for zone, amounts in self.free.items()}
        admitted = self.admit(containers)
        self.free = before
        return admitted

    def admit(self, containers: list[Amounts]) -> bool:
        """Admit a pod and give it its zones, or refuse it and change nothing."""
        before = {zone: dict(amounts) for zone, amounts in self.free.items()}
        parts = [added(containers)] if self.scope == "pod" else containers
        for part in parts:
            chosen = self.best(part)
            if chosen is None:
                self.free = before
                return False
            self.give(part, chosen)
        return True

    def best(self, request: Amounts) -> frozenset[int] | None:
        """The zones of the merged hint, None if the policy refuses it."""
        asked = {name: amount for name, amount in request.items() if amount > 0}
        if not asked:
            return frozenset()
        proposals = [self.proposals(name, amount) for name, amount in asked.items()]
        merged: list[tuple[bool, frozenset[int]]] = []
        for combination in product(*proposals):
            zones = frozenset.intersection(*(zones for zones, _ in combination))
            same = len({zones for zones, _ in combination}) == 1
            if zones:
                merged.append((same and all(preferred for _, preferred in combination), zones))
        if self.policy == "single-numa-node":
            merged = [(preferred, zones) for preferred, zones in merged if preferred and len(zones) == 1]
        if self.policy == "restricted":
            merged = [(preferred, zones) for preferred, zones in merged if preferred]
        if not merged:
            return None
        return min(merged, key=lambda hint: (not hint[0], len(hint[1]), sum(2**zone for zone in hint[1])))[1]

    def proposals(self, name: str, amount: int) -> list[tuple[frozenset[int], bool]]:
        """A manager's hints: sets of zones with room, and whether they are preferred."""
        sets = [
            frozenset(zones)
            for size in range(1, len(self.total) + 1)
            for zones in combinations(sorted(self.total), size)
        ]
        large = [len(zones) for zones in sets if sum(self.total[zone][name] for zone in zones) >= amount]
        fewest = min(large, default=0)
        return [
            (zones, len(zones) == fewest)
            for zones in sets
            if sum(self.free[zone][name] for zone in zones) >= amount
        ]

    def give(self, request: Amounts, zones: frozenset[int]) -> None:
        """Take a request out of its zones, the lowest first."""
        for name, amount in request.items():
            left = amount
            for zone in sorted(zones):
                part = min(left, self.free[zone][name])
                self.free[zone][name] -= part
                left -= part


def added(containers: list[Amounts]) -> Amounts:
    """What containers ask for together."""
    total: Amounts = {}
    for each in containers:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total
