"""Summarises a demonstration, as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from poseidon.demo.binding_latency import PodTracker, percentile
from poseidon.demo.machine_load import MachineUse
from poseidon.demo.verification import Occupancy


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of a demonstration."""

    pods: int
    """Number of pods that were created."""
    bound: int
    """Number of pods that were bound."""
    bound_twice: int
    """Number of pods that were bound to two nodes, which must be 0."""
    rounds: int
    """Number of rounds that the solver has run."""
    seconds: float
    """Seconds from the first creation of a pod to the last binding."""
    p50: float | None
    """Median seconds from creation to binding, as seen by a watcher of the API server; None without bindings."""
    p99: float | None
    """99th percentile of the seconds from creation to binding; None without bindings."""
    occupancy: Occupancy
    """How much of the nodes' resources is requested."""
    pending: Mapping[str, int] = field(default_factory=dict)
    """Number of pending pods, by the scheduler's message."""
    machine: MachineUse | None = None
    """How busy all programs kept the machine."""

    @property
    def pods_per_second(self) -> float:
        """Bound pods per second, from the first creation to the last binding; 0 if no pod is bound."""
        return self.bound / self.seconds if self.seconds > 0 else 0.0

    @property
    def sound(self) -> bool:
        """Whether no pod was bound twice or to a node that does not exist, and no node is overcommitted."""
        return not (self.bound_twice or self.occupancy.overcommitted_nodes or self.occupancy.unknown_nodes)

    def as_json(self) -> dict[str, Any]:
        """Return the figures by the names that the documents give them."""
        return {
            "nodes": self.occupancy.nodes,
            "pods": self.pods,
            "bound": self.bound,
            "boundTwice": self.bound_twice,
            "pending": [{"reason": reason, "pods": count} for reason, count in self.pending.items()],
            "rounds": self.rounds,
            "seconds": round(self.seconds, 4),
            "podsPerSecond": round(self.pods_per_second, 1),
            "latencySeconds": {"p50": _round(self.p50), "p99": _round(self.p99)},
            "nodesUsed": self.occupancy.nodes_used,
            "overcommittedNodes": self.occupancy.overcommitted_nodes,
        } | ({} if self.machine is None else {"machine": self.machine.as_json()})


def summarise(
    tracker: PodTracker, occupancy: Occupancy, rounds: int, machine: MachineUse | None = None
) -> Summary:
    """Return the summary of what the watcher saw and of what the API server holds at the end."""
    latencies = tracker.latencies()
    return Summary(
        pods=tracker.expected,
        bound=tracker.bound,
        bound_twice=tracker.bound_twice,
        rounds=rounds,
        seconds=tracker.seconds(),
        p50=percentile(latencies, 50),
        p99=percentile(latencies, 99),
        occupancy=occupancy,
        pending=dict(sorted(tracker.reasons().items(), key=lambda item: -item[1])),
        machine=machine,
    )


def print_summary(summary: Summary, console: Console) -> None:
    """Print the summary as a table."""
    found = summary.occupancy
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    rows = [
        ("pods bound", f"{summary.bound:,} of {summary.pods:,}"),
        ("rounds", f"{summary.rounds:,}"),
        ("pods per second", f"{summary.pods_per_second:,.0f}"),
        ("creation to binding, p50", _milliseconds(summary.p50)),
        ("creation to binding, p99", _milliseconds(summary.p99)),
        ("nodes used", f"{found.nodes_used:,} of {found.nodes:,}"),
        ("overcommitted nodes", f"{found.overcommitted_nodes:,}"),
    ]
    if summary.machine is not None:
        rows.append(("this machine meanwhile", str(summary.machine)))
    if summary.bound_twice:
        rows.append(("pods bound twice", f"{summary.bound_twice:,}"))
    for row in rows:
        table.add_row(*row)
    console.print(table)
    lines = [
        *found.overcommitted[:5],
        *(f"{name}: is not a node" for name in found.unknown_nodes[:5]),
        *(f"{count:,} pending: {reason}" for reason, count in list(summary.pending.items())[:5]),
    ]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:,.0f} ms"


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
