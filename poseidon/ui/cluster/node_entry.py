"""A node with its pods, and the figures that a heat map shows of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.ui.cluster.records import NodeFacts

CORDONED, NOT_READY, TAINTED, OVER_THRESHOLD, RESERVED, OVERCOMMITTED = 1, 2, 4, 8, 16, 32
"""Bits of ``Columns.flags``, which say what is unusual about a node."""

HISTORY = 50
_MOST_SHARE = 1_000_000
MAIN = ("cpu", "memory", "pods")


class Happening(NamedTuple):
    """An event in the history of a node.

    ``at`` is in seconds since the epoch; ``pod`` is None if the event concerns no pod.
    """

    at: float
    what: str
    pod: str | None


class Columns(NamedTuple):
    """The figures of a node that the dashboard's heat map shows.

    Shares are in per mille of what the node offers, None if unknown.
    """

    cpu: int | None
    """Requested cpu, in per mille."""
    memory: int | None
    """Requested memory, in per mille."""
    pods: int | None
    """Number of pods on the node, in per mille of the most that it may have."""
    cpu_used: int | None
    """Measured use of cpu, in per mille."""
    memory_used: int | None
    """Measured use of memory, in per mille."""
    hot: int | None
    """How far the measured use is from the threshold above which the node is hot."""
    flags: int
    """Sum of those bits of ``CORDONED``, ``NOT_READY`` and so on that apply."""


class NodeEntry:
    """A node that the dashboard knows. ``facts`` is None if the node is known only because pods name it.

    ``slot`` identifies the node. ``requested`` is the sum over ``pods`` (uids). ``nominated`` has the uids of pods
    that will come. ``used`` is the last measured use, None if nothing was measured.
    """

    __slots__ = (
        "_columns",
        "facts",
        "history",
        "name",
        "nominated",
        "pods",
        "requested",
        "since",
        "slot",
        "used",
        "used_at",
    )

    def __init__(self, name: str, slot: int, since: int) -> None:
        self.name, self.slot, self.since = name, slot, since
        self.facts: NodeFacts | None = None
        self.requested: dict[str, int] = {}
        self.pods: set[str] = set()
        self.nominated: set[str] = set()
        self.used: Mapping[str, int] | None = None
        self.used_at = 0.0
        self.history: deque[Happening] = deque(maxlen=HISTORY)
        self._columns: Columns | None = None

    @property
    def is_needed(self) -> bool:
        """Whether the node exists, or pods say that they run on it."""
        return self.facts is not None or bool(self.pods) or bool(self.nominated)

    def touch(self) -> None:
        """Record that something about the node has changed."""
        self._columns = None

    def add(self, uid: str, requests: Mapping[str, int]) -> None:
        """Add a pod and its requests to the node."""
        self.pods.add(uid)
        for resource, amount in requests.items():
            self.requested[resource] = self.requested.get(resource, 0) + amount
        self._columns = None

    def remove(self, uid: str, requests: Mapping[str, int]) -> None:
        """Remove a pod and its requests from the node."""
        self.pods.discard(uid)
        for resource, amount in requests.items():
            left = self.requested.get(resource, 0) - amount
            if left:
                self.requested[resource] = left
            else:
                self.requested.pop(resource, None)
        self._columns = None

    def columns(self, thresholds: Mapping[str, float]) -> Columns:
        """Return the node's figures for the heat map.

        ``thresholds`` has, by resource, the percentage of use above which the node is hot.
        """
        if self._columns is None:
            self._columns = self._compute_columns(thresholds)
        return self._columns

    def _compute_columns(self, thresholds: Mapping[str, float]) -> Columns:
        facts = self.facts or NodeFacts()
        offered, used = facts.allocatable, self.used or {}
        requested = {**self.requested, "pods": len(self.pods)}
        parts = {
            name: compute_per_mille(requested.get(name, 0), offered.get(name))
            for name in requested.keys() | set(MAIN)
        }
        others = [part for name, part in parts.items() if name not in MAIN and part is not None]
        flags = (
            CORDONED * facts.cordoned
            | NOT_READY * (not facts.ready)
            | TAINTED * bool(facts.taints)
            | RESERVED * bool(self.nominated)
            | OVERCOMMITTED * any(amount > offered.get(name, 0) for name, amount in requested.items())
        )
        if any(used.get(name, 0) * 100.0 > most * offered.get(name, 0) for name, most in thresholds.items()):
            flags |= OVER_THRESHOLD
        return Columns(
            parts["cpu"],
            parts["memory"],
            parts["pods"],
            compute_per_mille(used.get("cpu"), offered.get("cpu")),
            compute_per_mille(used.get("memory"), offered.get("memory")),
            max(others, default=None),
            flags,
        )


def compute_per_mille(amount: int | None, whole: int | None) -> int | None:
    """Return ``amount`` in per mille of ``whole``, at most 1,000,000; None if unknown, or if ``whole`` is 0."""
    if amount is None or not whole:
        return None
    return min(1000 * amount // whole if amount > MAX_AMOUNT else round(1000 * amount / whole), _MOST_SHARE)
