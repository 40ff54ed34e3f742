"""Estimates when the waiting pods of an input will start, by simulating several futures of the cluster.

The run time of a pod is learnt from ended pods of the same workload, mostly from those with equal requests; numbers
and hashes at the end of names are ignored. If no pod of the same workload has ended, a pod that is not started again
once it ends is taken to run as all other such pods do. Without samples, the pod's own statement counts
(``activeDeadlineSeconds`` or an annotation). A pod that states no run time either is taken to run for ever. New pods
are assumed to arrive as pods did in the last hours. Intervals become wider where those of earlier answers did not
hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from poseidon.configuration.document import BridgeConfiguration
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import build_offline_cluster
from poseidon.simulate.engine import Clock
from poseidon.simulate.forecasts.forecast import DRAWS, MOST_WORK, forecast_starts
from poseidon.simulate.forecasts.learning_from_pods import (
    RunFamilies,
    learn_run_times,
    look_back,
    set_beginnings,
)
from poseidon.simulate.forecasts.past_forecasts import find_widening, read_past_forecasts, widen_interval
from poseidon.simulate.presentation import format_span
from poseidon.simulate.scenario.document import ClusterPart, Scenario
from poseidon.simulate.setup import assemble
from poseidon.simulate.workloads.columns import no_work

HEADINGS = ("PENDING POD", "EXPECTED IN", "AT BEST", "AT WORST")
HORIZON = 7 * 86400.0
"""Seconds that are simulated; fewer if that would take too long, as in a large overloaded cluster."""


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """When a pod is expected to get its node, in seconds from now; None: later than the simulated time."""

    pod: str
    """Name of the pod, ``namespace/name``."""
    median: float | None
    """The time by which the pod has started in half of the simulated futures, in seconds from now."""
    low: float | None
    """The pod's earliest start in any of the simulated futures, in seconds from now.

    The start is earlier than that if past answers show that intervals are too narrow.
    """
    high: float | None
    """The pod's latest start in any of the simulated futures, or later, as with ``low``."""
    ahead: float
    """How many seconds the futures were simulated."""
    queue: str = ""
    """Name of the quota from which the pod takes, "" for none."""

    def as_json(self) -> dict[str, Any]:
        """Return the expected start as the JSON object that the documents describe."""
        return {
            "pod": self.pod,
            "median": self.median,
            "low": self.low,
            "high": self.high,
            "lookedAhead": self.ahead,
        }

    def describe(self) -> str:
        """Return the expected start as a sentence for people."""
        if self.low is None:
            return f"It is not expected to get a node within {_format_ahead(self.ahead)}, if all goes on as it is."
        best, median, worst = self.format_times()
        return f"It is expected to get a node in {median} (between {best} and {worst})."

    def format_times(self) -> tuple[str, str, str]:
        """Return the earliest, median and latest start as texts for people."""
        beyond = f"over {_format_ahead(self.ahead)}"
        best, median, worst = (
            beyond if each is None else format_span(each) for each in (self.low, self.median, self.high)
        )
        return best, median, worst


@dataclass(frozen=True, slots=True)
class ExpectedStarts:
    """The expected starts of all waiting pods, and what their run times are based on."""

    starts: tuple[ExpectedStart, ...]
    """Expected starts, sorted by the pods' names."""
    learnt: int
    """Number of pods whose run times are learnt from pods that have ended."""
    stated: int
    """Number of pods that state their run times."""
    unknown: int
    """Number of pods without a known run time: they are taken to run for ever."""
    came: int
    """Number of pods that arrived recently; as many similar pods are expected to arrive."""
    window: float
    """Seconds within which these recent pods arrived."""
    ahead: float
    """How many seconds the futures were simulated."""
    compared: int = 0
    """Number of earlier answers that were compared with the real starts."""
    widened: float = 1.0
    """Factor by which intervals are wider than those of the simulated futures."""

    def as_json(self) -> list[dict[str, Any]]:
        """Return the expected starts as JSON objects, for programs."""
        return [each.as_json() for each in self.starts]


def expect_starts(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, *, work: int = MOST_WORK
) -> ExpectedStarts:
    """Return when the waiting pods are expected to get nodes. Raises the errors of ``build_offline_cluster``.

    ``work`` limits the effort, in the unit of ``MOST_WORK``.
    """
    clock = Clock(now)
    cluster = build_offline_cluster(manifests, configuration, now, clock=clock, simulated=True)
    scenario = Scenario(horizon=HORIZON, round_every=1.0, sample_every=HORIZON, cluster=ClusterPart())
    simulation = assemble(scenario, cluster, manifests, clock, no_work())
    pods = [cluster.pods[simulation.uids[place]] for place in range(len(simulation.uids))]
    families = RunFamilies()
    run_times = learn_run_times(pods, manifests.pods, families, now)
    past = look_back(manifests, cluster, simulation, run_times, families, now)
    set_beginnings(simulation, pods, now)
    found = forecast_starts(simulation, run_times, past, horizon=HORIZON, work=work)
    told = read_past_forecasts(manifests.pods, now)
    factor = find_widening(told)
    lows, highs = widen_interval(found.low, found.median, found.high, factor)
    starts = [
        ExpectedStart(
            simulation.uids[task],
            _round(median),
            _round(low),
            _round(high if high <= found.ahead else np.inf),
            round(found.ahead, 1),
            simulation.kinds.classes[int(simulation.tasks.work.template[task])].queue,
        )
        for task, median, low, high in zip(
            *(column.tolist() for column in (found.tasks, found.median, lows, highs)), strict=True
        )
    ]
    learnt = sum(family in run_times.learnt for family in run_times.family.tolist())
    known = sum(
        family in run_times.learnt or stated < np.inf
        for family, stated in zip(run_times.family.tolist(), run_times.stated.tolist(), strict=True)
    )
    return ExpectedStarts(
        tuple(sorted(starts, key=lambda each: each.pod)), learnt, known - learnt, len(pods) - known,
        len(past.template), past.window, round(found.ahead, 1), len(told), factor,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueStarts:
    """When a queue's waiting pods are expected to get nodes, in seconds from now; None means later than ``ahead``."""

    first: float | None
    """Start of the queue's first waiting pod, as the median of the simulated futures, in seconds from now."""
    last: float | None
    """Start of the queue's last waiting pod, as the median of the simulated futures, in seconds from now."""
    ahead: float
    """How many seconds the futures were simulated."""

    def as_json(self) -> dict[str, Any]:
        """Return the queue's expected starts as a JSON object, for programs."""
        return {"first": self.first, "last": self.last, "lookedAhead": self.ahead}

    def format_times(self) -> tuple[str, str]:
        """Return the first and the last start as texts for people."""
        beyond = f"over {_format_ahead(self.ahead)}"
        first, last = (beyond if each is None else format_span(each) for each in (self.first, self.last))
        return first, last


def group_by_queue(found: ExpectedStarts) -> dict[str, QueueStarts]:
    """Return, by quota, when the pods that take from it are expected to start."""
    return group_starts(found, lambda each: each.queue)


def group_starts(found: ExpectedStarts, name: Callable[[ExpectedStart], str]) -> dict[str, QueueStarts]:
    """Return the expected starts of groups of pods; ``name`` returns the group of a pod, "" for none."""
    medians: dict[str, list[float]] = {}
    for each in found.starts:
        if group := name(each):
            medians.setdefault(group, []).append(np.inf if each.median is None else each.median)
    return {
        group: QueueStarts(_round(min(times)), _round(max(times)), found.ahead)
        for group, times in medians.items()
    }


def _round(value: float) -> float | None:
    return round(value, 1) if value < np.inf else None


def start_rows(found: ExpectedStarts) -> list[tuple[str, ...]]:
    """Return the rows of a table of expected starts."""
    rows: list[tuple[str, ...]] = []
    for each in found.starts:
        best, median, worst = each.format_times()
        rows.append((each.pod, median, best, worst))
    return rows


def start_lines(found: ExpectedStarts) -> list[str]:
    """Return sentences on what the expected starts are based on."""
    futures = f"best and worst are the first and the last of {DRAWS} simulated futures"
    others = f"as if pods went on coming as {found.came:,} did in the last {format_span(found.window)}"
    if not found.came:
        others = "as if no further pods came"
    learnt, stated = f"{found.learnt:,} as those of others that have ended", f"{found.stated:,} as they state"
    lines = [
        f"Expected {others}; {futures}.",
        f"Run times of pods: {learnt}, {stated}, {found.unknown:,} endless.",
    ]
    if found.widened > 1.0:
        lines.append(
            f"Intervals are {found.widened:.1f} times as wide as in the futures, since of {found.compared:,} earlier "
            "answers too many were wrong."
        )
    return lines


def _format_ahead(seconds: float) -> str:
    return "7 days" if seconds >= HORIZON else format_span(seconds)
