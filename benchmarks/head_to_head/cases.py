"""Defines what is measured: a burst of each workload, and arrivals at several rates on one cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.declarative.loading import Workload, WorkloadError, load_workload

BURSTS = (
    *("basic", "node-affinity", "affinity", "anti-affinity", "preferred-affinity"),
    *("preferred-anti-affinity", "topology-spread", "preferred-topology-spread", "mixed", "daemonset"),
    *("bound-claims", "many-deployments", "gangs", "preemption", "churn"),
    "device-claims",
)
"""Workloads in the order of their runs; those with the same nodes follow one another."""

OF_LATER_KINDS = ("composite-gangs",)
"""Workloads that need an API server which serves the kinds of trees of groups."""

RATES = (1, 10, 50, 100, 200, 300)
"""Pods per second."""

STEADY = "steady"
_LEAST_ARRIVALS = 20
_MOST_PER_NODE = {"anti-affinity": 1, "daemonset": 1, "preemption": 1, "device-claims": 10}
"""Pods per node of workloads that do not use the default number."""
_GANG, _REPLICAS, _ROUNDS = 20, 5, 5
_MEMBERS = 3
"""Pods of each of the two gangs of a composite group."""


@dataclass(frozen=True, slots=True)
class Part:
    """A single measurement. ``rate``: pods per second, None for a burst."""

    name: str
    workload: Workload
    rate: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """Parts that are measured one after another while a scheduler runs; their nodes are the same."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes: ``pods`` of a burst; ``seconds`` of each rate."""

    nodes: int = 5000
    pods: int = 1000
    seconds: int = 20


def make_cases(workloads: Sequence[str], rates: Sequence[int], sizes: Sizes) -> list[Case]:
    """Return one case with all rates, and one per workload. Raises ``WorkloadError``."""
    every = (*BURSTS, *OF_LATER_KINDS)
    if unknown := [name for name in workloads if name not in every]:
        raise WorkloadError([f"{name}: no such burst; known: {', '.join(every)}" for name in unknown])
    later = {*workloads} & {*OF_LATER_KINDS}
    if later and (rates or {*workloads} - later):
        names = ", ".join(sorted(later))
        raise WorkloadError([f"{names}: needs a server of its own; name no other burst, and --rates none"])
    steady = [_make_rate(rate, sizes) for rate in rates]
    bursts = [Case(name, (_make_burst(name, sizes),)) for name in every if name in workloads]
    return [*([Case(STEADY, tuple(steady))] if steady else []), *bursts]


def _make_rate(rate: int, sizes: Sizes) -> Part:
    pods = max(_LEAST_ARRIVALS, rate * sizes.seconds)
    params = {"nodes": sizes.nodes, "pods": pods, "rate": rate}
    return Part(f"{rate} pods/s", load_workload(STEADY, params=params), rate)


def _make_burst(name: str, sizes: Sizes) -> Part:
    known = load_workload(name).params
    wanted: Mapping[str, int] = {
        "nodes": sizes.nodes,
        "pods": min(sizes.pods, sizes.nodes * _MOST_PER_NODE.get(name, sizes.pods)),
        "initPods": max(1, sizes.pods // 5),
        "gangs": max(1, sizes.pods // _GANG),
        "members": _MEMBERS if name in OF_LATER_KINDS else _GANG,
        "roots": max(1, sizes.pods // (2 * _MEMBERS)),
        "deployments": max(1, sizes.pods // _REPLICAS),
        "out": max(1, sizes.pods // _ROUNDS),
        "times": _ROUNDS,
    }
    params = {key: value for key, value in wanted.items() if key in known}
    return Part(name, load_workload(name, params=params))
