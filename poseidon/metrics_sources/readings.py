"""What any source says of a node at one moment, free of where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Amounts: TypeAlias = dict[str, int]
"""Amount in use by resource: milli-cores for cpu, else whole units, rounded up."""

PERCENTILES = ("avg", "p50", "p90", "p95", "p99")
"""The statistics over windows that koordlet knows."""

STATISTICS = (*PERCENTILES, "std")
"""All statistics over windows that are known."""


class Window(NamedTuple):
    """A statistic of a node's use over the ``seconds`` before the reading. ``usage`` is never empty."""

    statistic: str
    seconds: float
    usage: Amounts


class PodReading(NamedTuple):
    """What one pod uses.

    ``priority`` is its class in the eyes of the source, "" for none; None for a source that knows no classes.
    """

    namespace: str
    name: str
    usage: Amounts
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class NodeReading:
    """What a source says of a node.

    ``time`` is when it was measured, in seconds since the epoch, 0 if the source does not say; ``interval`` how many
    seconds lie between two readings. ``usage`` is None where the source knows the node and has measured nothing;
    resources that it leaves out are taken as unused. ``system`` is what neither pods nor host applications use.
    ``aggregates``: the source computes statistics itself, so that those it leaves out are not to be had.
    ``pods`` is None where the source says nothing of pods; else a pod that it leaves out was not measured.
    """

    node: str
    time: float
    interval: float
    usage: Amounts | None
    windows: tuple[Window, ...] = ()
    aggregates: bool = False
    system: Amounts | None = None
    pods: tuple[PodReading, ...] | None = None
