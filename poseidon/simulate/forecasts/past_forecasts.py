"""Learns from earlier expected starts of the same cluster how far the intervals of new ones have to be widened.

A pod keeps the first answer that it got, so a list of pods says which starts were expected, and which came. The score
of a start says how far it was from its median, in parts of the distance from the median to the end of the interval on
that side; scores above 1 are starts outside the interval. Intervals are multiplied by the score that ``SHARE`` of the
past starts did not exceed, as in split conformal prediction (Lei et al., "Distribution-free predictive inference for
regression", JASA 113, 2018). For pods that still wait, the score is at least the score that they would get now
(Kaplan and Meier, as in ``run_time_statistics``). Intervals are never narrowed.

Answers of one moment depend on each other, so together they count as at most ``MOST_OF_A_MOMENT`` starts. ``PRIOR``
starts, whose scores are those of intervals that hold as they should, are added so that few past answers change
little.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod
from poseidon.pods.tasks import workload_of
from poseidon.simulate.workloads.columns import Float64

FIRST_EXPECTED = "firmament.io/first-expected-start"
"""Annotation with the first expected start that a pod was told; JSON in the form of ``firmament.io/expected-start``."""
SHARE = 0.9
"""Share of the past starts that widened intervals would have held."""
PRIOR = 10
"""Number of added starts whose scores are evenly spread from 0 to 1."""
MOST_WIDENING = 10.0
"""Largest factor: whoever may annotate pods can invent past answers."""
MOST_OF_A_MOMENT = 3.0
"""The answers of one moment count together as at most this many starts."""
LONGEST = 86400.0
"""Seconds: older answers do not count."""
LEAST_WIDTH = 0.05
"""Least distance of an end of an interval from its median, as a part of the median.

A forecast's score is its error as a part of the distance.
"""


class PastForecast(NamedTuple):
    """An expected start of the past and what came to be, in seconds since the answer."""

    asked: float
    """When the answer was given, in seconds since the epoch."""
    low: float
    """Earliest expected start."""
    median: float
    """Expected start."""
    high: float
    """Latest expected start, infinite if it was beyond the simulated time."""
    until: float
    """When the pod started, or now."""
    over: bool
    """Whether the pod has started."""

    def find_score(self) -> float:
        """Return the distance of the start from the median, in parts of the interval's width on that side.

        For a pod that still waits, this score is the least that the pod can get.
        """
        least = max(LEAST_WIDTH * self.median, 1.0)
        if self.until >= self.median:
            return (self.until - self.median) / max(self.high - self.median, least)
        return (self.median - self.until) / max(self.median - self.low, least) if self.over else 0.0


class _Told(msgspec.Struct):
    """The parts of the annotation that are read; times as in RFC 3339."""

    computed: str
    median: str | None = None
    earliest: str | None = None
    latest: str | None = None


def read_past_forecasts(pods: Iterable[Pod], now: float) -> list[PastForecast]:
    """Return what pods were told first within ``LONGEST`` seconds before ``now``, seconds since the epoch.

    Pods of one workload that got their answer at the same moment count as one pod. Two kinds of annotations are left
    out: those that are not as this program writes them, and answers without an expected start.
    """
    found: dict[Hashable, PastForecast] = {}
    for pod in pods:
        told = _read_told(pod)
        if told is None:
            continue
        asked, low, median, high = told
        begun = seconds(pod.status.start_time)
        if begun is None and pod.spec.node_name:
            continue
        if asked <= now <= asked + LONGEST and (begun is None or begun >= asked):
            until = max((now if begun is None else begun) - asked, 0.0)
            found.setdefault(
                (workload_of(pod), asked),
                PastForecast(asked, low - asked, median - asked, high - asked, until, begun is not None),
            )
    return list(found.values())


def _read_told(pod: Pod) -> tuple[float, float, float, float] | None:
    """Return when a pod first got an expected start, and its earliest, expected and latest start (epoch seconds)."""
    text = pod.metadata.annotations.get(FIRST_EXPECTED)
    if text is None:
        return None
    try:
        told = msgspec.json.decode(text, type=_Told)
        asked, low, median = seconds(told.computed), seconds(told.earliest), seconds(told.median)
        high = np.inf if told.latest is None else seconds(told.latest)
    except ValueError:
        return None
    if asked is None or low is None or median is None or high is None or not asked <= low <= median <= high:
        return None
    return asked, low, median, float(high)


def find_widening(past: Iterable[PastForecast]) -> float:
    """Return the factor, from 1 to ``MOST_WIDENING``, by which intervals are widened so that ``SHARE`` of the past
    starts lie inside.
    """
    given = list(past)
    moments, place = np.unique(np.array([each.asked for each in given]), return_inverse=True)
    counts = np.bincount(place, minlength=len(moments))
    weight = np.minimum(MOST_OF_A_MOMENT / np.maximum(counts, 1), 1.0)[place]
    prior = (np.arange(PRIOR) + 0.5) / PRIOR
    score = np.append([each.find_score() for each in given], prior)
    over = np.append([each.over for each in given], np.ones(PRIOR)).astype(np.bool_)
    found = _find_quantile(score, over, np.append(weight, np.ones(PRIOR)))
    return min(max(found, 1.0), MOST_WIDENING)


def _find_quantile(score: Float64, over: NDArray[np.bool_], weight: Float64) -> float:
    """Return the least score that ``SHARE`` of the starts do not exceed.

    If that score is unknown, the largest known score.

    ``over``: whether each score is final; a score that is not final counts only as a lower bound.
    """
    order = np.lexsort((~over, score))
    score, over, weight = score[order], over[order], weight[order]
    known = np.flatnonzero(over)
    under_way = np.cumsum(weight[::-1])[::-1]
    above = np.cumprod(1.0 - weight[known] / under_way[known])
    enough = np.flatnonzero(above <= 1.0 - SHARE + 1e-9)
    return float(score[known[enough[0] if len(enough) else -1]])


def widen_interval(low: Float64, median: Float64, high: Float64, factor: float) -> tuple[Float64, Float64]:
    """Return the ends of intervals, ``factor`` times as far from their medians, and not before now.

    Infinite ends stay infinite.

    All are seconds from now.
    """
    known = np.isfinite(median)
    wider_low, wider_high = low.copy(), high.copy()
    middle = median[known]
    wider_low[known] = np.maximum(middle - factor * (middle - low[known]), 0.0)
    wider_high[known] = middle + factor * (high[known] - middle)
    return wider_low, wider_high
