"""Estimates when the waiting pods of an input will start, by simulating several futures of the cluster.

The run time of a pod is learnt from ended pods of the same workload, ignoring the number or hash at the end of names,
and mostly from those with the same requests; else it is what the pod states, by ``activeDeadlineSeconds`` or an
annotation; else the pod runs for ever. Pods are assumed to arrive as they did in the last hours.
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
from poseidon.simulate.forecast import DRAWS, MOST_WORK, forecast_starts
from poseidon.simulate.learning_from_pods import RunFamilies, learn_run_times, look_back, set_beginnings
from poseidon.simulate.presentation import format_span
from poseidon.simulate.scenario.document import ClusterPart, Scenario
from poseidon.simulate.setup import assemble
from poseidon.simulate.workloads.columns import no_work

HEADINGS = ("PENDING POD", "EXPECTED IN", "AT BEST", "AT WORST")
HORIZON = 7 * 86400.0
"""Seconds that are simulated; fewer where that would take too long, as in a large overloaded cluster."""


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """The seconds from now in which a pod is expected to get its node; None: not within the simulated time."""

    pod: str
    """``namespace/name``."""
    median: float | None
    """The time by which the pod has started in half of the simulated futures."""
    low: float | None
    """Start in the earliest of the futures."""
    high: float | None
    """Start in the latest of the futures."""
    ahead: float
    """Seconds that were simulated."""
    queue: str = ""
    """Name of the quota that the pod draws on, "" for none."""

    def as_json(self) -> dict[str, Any]:
        """Return the expected start as the documented JSON object."""
        return {
            "pod": self.pod,
            "median": self.median,
            "low": self.low,
            "high": self.high,
            "lookedAhead": self.ahead,
        }

    def describe(self) -> str:
        """Return the expected start as a sentence."""
        if self.low is None:
            return f"It is not expected to get a node within {_format_ahead(self.ahead)}, if all goes on as it is."
        best, median, worst = self.format_times()
        return f"It is expected to get a node in {median} (between {best} and {worst})."

    def format_times(self) -> tuple[str, str, str]:
        """Return best, median and worst for people."""
        beyond = f"over {_format_ahead(self.ahead)}"
        best, median, worst = (
            beyond if each is None else format_span(each) for each in (self.low, self.median, self.high)
        )
        return best, median, worst


@dataclass(frozen=True, slots=True)
class ExpectedStarts:
    """The expected starts of all waiting pods, and the sources of the run times they are based on."""

    starts: tuple[ExpectedStart, ...]
    """Expected starts, sorted by the pods' names."""
    learnt: int
    """Number of pods whose run times are learnt from pods that have ended."""
    stated: int
    """Number of pods that state their run times."""
    unknown: int
    """Number of pods without a known run time: they are taken to run for ever."""
    came: int
    """Number of pods that came recently; pods like them are expected to come."""
    window: float
    """Seconds in which these pods came."""
    ahead: float
    """Seconds that were simulated."""

    def as_json(self) -> list[dict[str, Any]]:
        """Return the starts for programs."""
        return [each.as_json() for each in self.starts]


def expect_starts(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, *, work: int = MOST_WORK
) -> ExpectedStarts:
    """Return when the waiting pods are expected to get nodes. Raises what ``build_offline_cluster`` raises.

    ``work``: limit of effort, in the unit of ``MOST_WORK``.
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
    starts = [
        ExpectedStart(
            simulation.uids[task],
            _round(median),
            _round(low),
            _round(high),
            round(found.ahead, 1),
            simulation.kinds.classes[int(simulation.tasks.work.template[task])].queue,
        )
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
        len(past.template), past.window, round(found.ahead, 1),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueStarts:
    """The seconds from now in which a queue's waiting pods are expected to get nodes; None: not within ``ahead``."""

    first: float | None
    """When the first of these pods starts, in the median of the futures."""
    last: float | None
    """When the last of these pods starts, in the median of the futures."""
    ahead: float
    """Seconds that were simulated."""

    def as_json(self) -> dict[str, Any]:
        """Return the starts of the queue for programs."""
        return {"first": self.first, "last": self.last, "lookedAhead": self.ahead}

    def format_times(self) -> tuple[str, str]:
        """Return the first and the last start for people."""
        beyond = f"over {_format_ahead(self.ahead)}"
        first, last = (beyond if each is None else format_span(each) for each in (self.first, self.last))
        return first, last


def group_by_queue(found: ExpectedStarts) -> dict[str, QueueStarts]:
    """Return the expected starts of each quota's pods."""
    return group_starts(found, lambda each: each.queue)


def group_starts(found: ExpectedStarts, name: Callable[[ExpectedStart], str]) -> dict[str, QueueStarts]:
    """Return the expected starts of groups of pods; ``name`` returns a pod's group, "" for none."""
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
    return [
        f"Expected {others}; {futures}.",
        f"Run times of pods: {learnt}, {stated}, {found.unknown:,} endless.",
    ]


def _format_ahead(seconds: float) -> str:
    return "7 days" if seconds >= HORIZON else format_span(seconds)
