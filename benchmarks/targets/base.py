"""The interface of targets, and the figures that they return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from benchmarks.declarative.templates import Manifest
from firmament.core.results import RoundStats
from poseidon.demo.binding_latency import PodName, percentile
from protos.firmament.v1 import scheduler_pb2 as pb

PERCENTS = (50, 90, 99)


class TargetError(RuntimeError):
    """A workload cannot continue; the text says what the target cannot do, or what did not happen in time."""


RoundFigures: TypeAlias = RoundStats | pb.RoundStats
"""Figures of a round, by the names that core and protocol share."""


@dataclass(slots=True)
class Figures:
    """Figures between ``begin`` and ``end`` of a target."""

    seconds: float = 0.0
    """Seconds for rates: of rounds if the core runs alone, else from the first object sent to the last pod settled."""
    bound: int = 0
    """Number of bound pods."""
    waiting: int = 0
    """Number of pods that still wait."""
    rounds: list[RoundFigures] = field(default_factory=list)
    """Figures of each round."""
    parts: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""
    latencies: list[float] = field(default_factory=list)
    """Seconds per bound pod from creation to placement, sorted."""
    curve: list[tuple[float, int]] = field(default_factory=list)
    """Pairs of second and number of pods bound so far."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further figures by name."""

    def add(self, part: str, seconds: float) -> None:
        """Add to the seconds of a stage."""
        self.parts[part] = self.parts.get(part, 0.0) + seconds

    def _times_bare_solve(self) -> float | None:
        """Return the rounds' seconds relative to the solver's within them; None if rounds are not timed separately."""
        inside = sum(each.solve_seconds for each in self.rounds)
        return self.parts["rounds"] / inside if inside and "rounds" in self.parts else None

    @property
    def pods_per_second(self) -> float | None:
        """Bound pods per second; None if none was bound."""
        return self.bound / self.seconds if self.seconds and self.bound else None

    def as_json(self) -> dict[str, Any]:
        """Return the figures for reports."""
        return {
            "seconds": self.seconds,
            "bound": self.bound,
            "waiting": self.waiting,
            "podsPerSecond": self.pods_per_second,
            "parts": self.parts,
            "latencySeconds": {f"p{percent}": percentile(self.latencies, percent) for percent in PERCENTS},
            "latencyCurve": thin(self.latencies),
            "curve": thin_curve(self.curve),
            "rounds": round_summary(self.rounds),
            "timesBareSolve": self._times_bare_solve(),
            **self.extra,
        }


def round_summary(rounds: Sequence[RoundFigures]) -> dict[str, Any]:
    """Return sums and extremes over rounds, without rounds in which nothing was tried."""
    tried = [each for each in rounds if each.tasks]
    main = max(tried, key=lambda each: each.placed, default=None)
    return {
        "count": len(tried),
        "certified": sum(each.certified for each in tried),
        "gap": max((each.gap for each in tried), default=None),
        "solves": sum(each.solves for each in tried),
        "passes": sum(each.passes for each in tried),
        "waves": max((each.waves for each in tried), default=0),
        "classes": main.classes if main else 0,
        "arcs": main.arcs if main else 0,
        "seconds": {
            stage: sum(getattr(each, f"{stage}_seconds") for each in tried)
            for stage in ("snapshot", "network", "solve", "admit")
        },
    }


def thin(ordered: Sequence[float], points: int = 101) -> list[float]:
    """Return at most ``points`` of sorted values, evenly spaced in rank, including the first and the last."""
    if len(ordered) <= points:
        return list(ordered)
    return [ordered[round(number * (len(ordered) - 1) / (points - 1))] for number in range(points)]


def thin_curve(curve: Sequence[tuple[float, int]], points: int = 200) -> list[tuple[float, int]]:
    """Return at most ``points`` of a curve, including the last."""
    if len(curve) <= points:
        return list(curve)
    return [curve[round(number * (len(curve) - 1) / (points - 1))] for number in range(points)]


class Target(Protocol):
    """A system that schedules pods. Its methods are called one after another."""

    stage: str

    async def create(self, objects: Sequence[Manifest]) -> None:
        """Create objects; raises ``TargetError`` if one is refused."""
        ...

    async def delete(self, pods: Iterable[PodName]) -> None:
        """Delete pods."""
        ...

    async def advance(self, seconds: float) -> None:
        """Let at least ``seconds`` pass, and do the work that is due meanwhile."""
        ...

    async def settle(self) -> None:
        """Wait until every pod is bound or reported as fitting on no node; raises ``TargetError``."""
        ...

    def begin(self) -> None:
        """Start measuring."""
        ...

    def end(self) -> Figures:
        """Stop measuring."""
        ...
