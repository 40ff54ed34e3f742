"""Expected starts of the pods of some manifests that wait: what runs ends as it says, or as others of its kind have.

How long a pod runs is learnt from pods of the same workload that have ended, whatever number or hash ends its name;
else it is what the pod states, by ``activeDeadlineSeconds`` or an annotation; else it runs for ever. Pods go on coming
as they came in the last hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poseidon.configuration.document import BridgeConfiguration
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import build
from poseidon.simulate.engine import Clock
from poseidon.simulate.forecast import DRAWS, forecast_starts
from poseidon.simulate.observed import RunFamilies, learn_run_times, look_back, set_beginnings
from poseidon.simulate.presentation import format_span
from poseidon.simulate.scenario.document import ClusterPart, Scenario
from poseidon.simulate.setup import assemble
from poseidon.simulate.workloads.columns import no_work

HEADINGS = ("PENDING POD", "EXPECTED IN", "AT BEST", "AT WORST")
HORIZON = 7 * 86400.0
"""Seconds that are looked ahead."""


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """When a pod is expected to get its node, in seconds from now; None: not within a week."""

    pod: str
    """``namespace/name``."""
    median: float | None
    """Half of the simulated futures have begun it by then."""
    low: float | None
    """When it starts in the future in which it starts first."""
    high: float | None
    """When it starts in the future in which it starts last."""

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"pod": self.pod, "median": self.median, "low": self.low, "high": self.high}

    def describe(self) -> str:
        """Return it as a sentence."""
        if self.median is None:
            return "It is not expected to get a node within 7 days, if all goes on as it is."
        span = f"between {_format(self.low)} and {_format(self.high)}"
        return f"It is expected to get a node in {_format(self.median)} ({span})."


@dataclass(frozen=True, slots=True)
class ExpectedStarts:
    """Of all pods that wait, and what is known of the run times of those that run or wait."""

    starts: tuple[ExpectedStart, ...]
    """Of the pods, by name."""
    learnt: int
    """Pods whose run times are those of others that have ended."""
    stated: int
    """Pods that state theirs."""
    unknown: int
    """Pods that run for ever, as far as anybody knows."""
    came: int
    """Pods that came of late, as which others are expected to come."""
    window: float
    """Seconds in which they came."""

    def as_json(self) -> list[dict[str, Any]]:
        """Return the starts for programs."""
        return [each.as_json() for each in self.starts]


def expect_starts(manifests: Manifests, configuration: BridgeConfiguration, now: float) -> ExpectedStarts:
    """Return when the pods that wait are expected to get nodes. Raises what ``build`` does."""
    clock = Clock(now)
    cluster = build(manifests, configuration, now, clock=clock)
    scenario = Scenario(horizon=HORIZON, round_every=1.0, sample_every=HORIZON, cluster=ClusterPart())
    simulation = assemble(scenario, cluster, manifests, clock, no_work())
    pods = [cluster.pods[simulation.uids[place]] for place in range(len(simulation.uids))]
    families = RunFamilies()
    run_times = learn_run_times(pods, manifests.pods, families, now)
    past = look_back(manifests, cluster, simulation, run_times, families, now)
    set_beginnings(simulation, pods, now)
    found = forecast_starts(simulation, run_times, past, horizon=HORIZON)
    starts = [
        ExpectedStart(simulation.uids[task], *(_round(each) for each in (median, low, high)))
        for task, median, low, high in zip(
            *(column.tolist() for column in (found.tasks, found.median, found.low, found.high)), strict=True
        )
    ]
    learnt = sum(family in run_times.learnt for family in run_times.family.tolist())
    known = sum(
        family in run_times.learnt or stated < np.inf
        for family, stated in zip(run_times.family.tolist(), run_times.stated.tolist(), strict=True)
    )
    return ExpectedStarts(
        tuple(sorted(starts, key=lambda each: each.pod)), learnt, known - learnt, len(pods) - known,
        len(past.template), past.window,
    )  # fmt: skip


def _round(value: float) -> float | None:
    return round(value, 1) if value < np.inf else None


def start_rows(found: ExpectedStarts) -> list[tuple[str, ...]]:
    """Return the rows of a table of expected starts."""
    return [
        (each.pod, *(_format(time) for time in (each.median, each.low, each.high))) for each in found.starts
    ]


def start_lines(found: ExpectedStarts) -> list[str]:
    """Return what the figures stand on as sentences."""
    futures = f"best and worst are the first and the last of {DRAWS} simulated futures"
    others = f"as if pods went on coming as {found.came:,} did in the last {format_span(found.window)}"
    if not found.came:
        others = "as if no further pods came"
    learnt, stated = f"{found.learnt:,} as those of others that have ended", f"{found.stated:,} as they state"
    return [
        f"Expected {others}; {futures}.",
        f"Run times of pods: {learnt}, {stated}, {found.unknown:,} endless.",
    ]


def _format(time: float | None) -> str:
    return "over 7 days" if time is None else format_span(time)
