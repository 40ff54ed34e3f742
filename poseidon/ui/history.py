"""Figures of the last quarter of an hour, in steps of two seconds."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from poseidon.live.figures import Figures

MOST = 450
STEP = 2.0

_COLUMNS = ("boundPerSecond", "schedulingP50", "schedulingP99", "pending", "roundsPerSecond")


class _Step(NamedTuple):
    at: float
    bound: float | None
    p50: float | None
    p99: float | None
    pending: int
    rounds: float | None


class FigureHistory:
    """The last 450 steps. ``latest`` are the figures of the last one, None while there are none."""

    def __init__(self) -> None:
        self._steps: deque[_Step] = deque(maxlen=MOST)
        self.latest: Figures | None = None

    def add(self, at: float, found: Figures | None, pending: int) -> None:
        """Add a step; ``found`` None: the bridge did not answer."""
        self.latest = found
        if found is None:
            self._steps.append(_Step(at, None, None, None, pending, None))
            return
        median, most = (None if math.isnan(each) else round(each, 6) for each in found.scheduling)
        self._steps.append(_Step(at, round(found.bound, 3), median, most, pending, round(found.rounds, 3)))

    def as_json(self) -> dict[str, list[Any]]:
        """Return the steps as columns."""
        columns = list(zip(*self._steps, strict=True)) or [()] * (len(_COLUMNS) + 1)
        return {name: list(column) for name, column in zip(("at", *_COLUMNS), columns, strict=True)}
