"""Stretches the limits of time in tests as far as this machine is slow, and busy.

A limit says how long something may take on two quiet cores. What it guards against is waiting for ever; that a machine
is slow is no fault of what is tested.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Final

REFERENCE: Final = 0.010
"""Seconds that the measured loop takes on the machine whose seconds the limits are."""

MOST: Final = 20.0
"""No limit is stretched further, so that a run that hangs ends in the same hour."""

QUIET: Final = 0.5
"""Waiting tasks per core, beyond which a machine counts as busy. Our own workers are among them."""


def stretch(seconds: float) -> float:
    """Return how many seconds a test may wait here and now, for ``seconds`` on two quiet cores; never fewer."""
    return seconds * min(max(measure_slowness() * max(1.0, _load() / QUIET), 1.0), MOST)


@cache
def measure_slowness() -> float:
    """Measure once how much longer than ``REFERENCE`` a fixed piece of work takes; the best of five tries."""
    tries = []
    for _ in range(5):
        begun = time.perf_counter()
        sum(number * number for number in range(100_000))
        tries.append(time.perf_counter() - begun)
    return min(tries) / REFERENCE


def _load() -> float:
    """Tasks that run or wait to run, per core, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)
