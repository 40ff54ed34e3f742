"""Keeps the figures of the last 15 minutes, with gaps for times without figures."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from poseidon.live.figures import Figures

KEPT_SECONDS = 900.0
GAP_SECONDS = 30.0
"""If two readings are further apart, a gap is shown between them, because nothing was read in between."""

_MOST = 900
_COLUMNS = ("boundPerSecond", "schedulingP50", "schedulingP99", "pending", "roundsPerSecond")


class _Step(NamedTuple):
    at: float
    bound: float | None = None
    p50: float | None = None
    p99: float | None = None
    pending: int | None = None
    rounds: float | None = None


class FigureHistory:
    """The figures of each reading of the programs' metrics; ``latest`` is None if the last reading had no figures.

    ``latest``: the figures of the last reading, None if that reading has none.
    """

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque(maxlen=_MOST)
        self.latest: Figures | None = None

    def add(self, at: float, found: Figures | None, pending: int) -> None:
        """Add a reading; ``found`` has the reading's figures, or is None if the bridge did not answer."""
        self.latest = found
        if found is None:
            self._steps.append(_Step(at, pending=pending))
        else:
            median, most = (None if math.isnan(each) else round(each, 6) for each in found.scheduling)
            self._steps.append(
                _Step(at, round(found.bound, 3), median, most, pending, round(found.rounds, 3))
            )
        while self._steps[0].at < at - KEPT_SECONDS:
            self._steps.popleft()

    def as_json(self) -> dict[str, list[Any]]:
        """Return the readings as columns for a chart.

        Each gap has an empty reading in its middle, so that lines are interrupted.
        """
        steps = list(self._steps)
        gaps = [
            _Step((first.at + second.at) / 2)
            for first, second in pairwise(steps)
            if second.at - first.at > GAP_SECONDS
        ]
        columns = list(zip(*sorted([*steps, *gaps], key=lambda each: each.at), strict=True))
        named = zip(("at", *_COLUMNS), columns or [()] * (len(_COLUMNS) + 1), strict=True)
        return {name: list(column) for name, column in named}
