"""Expected starts of the pods of some manifests that wait: what runs ends as it says, or as others of its kind have.

How long a pod runs is learnt from pods of the same workload that have ended, whatever number or hash ends its name;
else it is what the pod states, by ``activeDeadlineSeconds`` or an annotation; else it runs for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import build
from poseidon.pods.run_times import find_run_seconds
from poseidon.pods.tasks import workload_of
from poseidon.simulate.engine import Clock, Simulation
from poseidon.simulate.forecast import RunTimes, forecast_starts
from poseidon.simulate.presentation import format_span
from poseidon.simulate.scenario.document import ClusterPart, Scenario
from poseidon.simulate.setup import assemble
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.columns import Float64, no_work

HEADINGS = ("PENDING POD", "EXPECTED IN", "AT BEST", "AT WORST")
HORIZON = 7 * 86400.0
"""Seconds that are looked ahead."""
_ENDING = re.compile(r"(-[a-z0-9]*[0-9][a-z0-9]*)+$")


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """When a pod is expected to get its node, in seconds from now; None: not within a week."""

    pod: str
    """``namespace/name``."""
    median: float | None
    """Half of the simulated futures have begun it by then."""
    low: float | None
    """One in twenty has."""
    high: float | None
    """Nineteen in twenty have."""

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {"pod": self.pod, "median": self.median, "low": self.low, "high": self.high}

    def describe(self) -> str:
        """Return it as a sentence."""
        if self.median is None:
            return "It is not expected to get a node within 7 days, if all goes on as it is."
        span = f"between {_format(self.low)} and {_format(self.high)}"
        return f"It is expected to get a node in {_format(self.median)} ({span}), if no further pods come."


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
    run_times = learn_run_times(pods, manifests.pods)
    _set_beginnings(simulation, pods, now)
    found = forecast_starts(simulation, run_times, horizon=HORIZON)
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
        tuple(sorted(starts, key=lambda each: each.pod)), learnt, known - learnt, len(pods) - known
    )


def learn_run_times(pods: Iterable[Pod], all_pods: Iterable[Pod]) -> RunTimes:
    """Return what is known about the run times of ``pods`` from those of ``all_pods`` that have ended."""
    ended: dict[str, list[float]] = {}
    for pod in all_pods:
        ran = _find_run(pod)
        if ran is not None:
            ended.setdefault(find_family(pod), []).append(ran)
    numbers: dict[str, int] = {}
    mine = list(pods)
    family = [numbers.setdefault(find_family(pod), len(numbers)) for pod in mine]
    stated = [float(find_run_seconds(pod)) or np.inf for pod in mine]
    learnt: dict[int, Float64] = {
        numbers[name]: np.sort(np.array(times)) for name, times in ended.items() if name in numbers
    }
    return RunTimes(np.array(family, dtype=np.int64), np.array(stated), learnt)


def find_family(pod: Pod) -> str:
    """Return what pods of one workload have in common, though it was created several times: train-7, train-8."""
    return _ENDING.sub("", workload_of(pod))


def _find_run(pod: Pod) -> float | None:
    """Return how long a pod ran that has succeeded, None if that is not known."""
    if pod.status.phase != "Succeeded":
        return None
    begun = seconds(pod.status.start_time)
    ends = [
        seconds(each.state.terminated.finished_at)
        for each in pod.status.container_statuses
        if each.state is not None and each.state.terminated is not None and each.state.terminated.finished_at
    ]
    last = max((each for each in ends if each is not None), default=None)
    return None if begun is None or last is None or last <= begun else last - begun


def _set_beginnings(simulation: Simulation, pods: Iterable[Pod], now: float) -> None:
    """Let the pods that run have begun when they say that they have."""
    for place, pod in enumerate(pods):
        begun = seconds(pod.status.start_time)
        if begun is not None and simulation.tasks.state[place] == TaskProgress.RUNNING:
            simulation.tasks.begun[place] = min(begun - now, 0.0)


def _round(value: float) -> float | None:
    return round(value, 1) if value < np.inf else None


def start_rows(found: ExpectedStarts) -> list[tuple[str, ...]]:
    """Return the rows of a table of expected starts."""
    return [
        (each.pod, *(_format(time) for time in (each.median, each.low, each.high))) for each in found.starts
    ]


def start_lines(found: ExpectedStarts) -> list[str]:
    """Return what the figures stand on as sentences."""
    futures = "nine in ten of the simulated futures are between best and worst"
    learnt, stated = f"{found.learnt:,} as those of others that have ended", f"{found.stated:,} as they state"
    return [
        f"Expected as if no further pods came; {futures}.",
        f"Run times of pods: {learnt}, {stated}, {found.unknown:,} endless.",
    ]


def _format(time: float | None) -> str:
    return "over 7 days" if time is None else format_span(time)
