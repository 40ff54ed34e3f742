"""What the pods of each node use: those that run there, whoever scheduled them, and those being bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Resource and amount, each resource once; equal requests may share one tuple."""


class Requested:
    """Sums of requests by node, kept up to date pod by pod.

    Every pod is charged to at most one node. What it was charged is remembered, so that any order and any
    repetition of calls leaves the sums that a recount would find: exact integers, no drift.
    """

    def __init__(self) -> None:
        self._charged: dict[str, tuple[str, Amounts]] = {}
        self._used: dict[str, dict[str, int]] = {}

    def put(self, uid: str, node: str, requests: Amounts) -> None:
        """Charge a pod to a node, and to no other; "" takes it off whatever node it was charged to."""
        charge = (node, requests)
        before = self._charged.get(uid)
        if before == charge:
            return
        if before is not None:
            self.drop(uid)
        if not node:
            return
        self._charged[uid] = charge
        used = self._used.get(node)
        if used is None:
            self._used[node] = dict(requests)
            return
        for resource, amount in requests:
            used[resource] = used.get(resource, 0) + amount

    def drop(self, uid: str) -> None:
        """Take a pod off its node, if it is on one."""
        before = self._charged.pop(uid, None)
        if before is None:
            return
        node, requests = before
        used = self._used.setdefault(node, {})
        for resource, amount in requests:
            used[resource] -= amount
            if not used[resource]:
                del used[resource]
        if not used:
            del self._used[node]

    def nodes(self) -> list[str]:
        """Return the names of the nodes on which something is requested."""
        return list(self._used)

    def used(self, node: str) -> Mapping[str, int]:
        """Return what is requested on a node, without resources of which nothing is."""
        return self._used.get(node, {})
