"""What came of late, and what is therefore expected to come: so many per second, and such as came.

The rate itself is uncertain after few arrivals: each future draws its own, of the gamma distribution that a Poisson
process of unknown rate leaves (Gelman et al., Bayesian Data Analysis, section 2.6).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poseidon.simulate.workloads.columns import ALONE, Float64, Int64

LEAST_WINDOW = 600.0
"""Seconds of past without which nothing is said about what comes."""
MOST_WINDOW = 6 * 3600.0
"""Seconds of past that are looked at."""
MOST_TASKS = 20_000
"""Tasks that come in one future."""


class PastTask(NamedTuple):
    """A task that came."""

    template: int
    """What it is."""
    family: int
    """Tasks of one number run for similar times."""
    stated: float
    """Seconds that it says it runs, endless where it does not."""
    submission: Hashable = None
    """What those that came together have in common, None for alone."""
    ganged: bool = False
    """Whether they are placed together."""


class ExpectedArrivals(NamedTuple):
    """N tasks that come in one future, in order."""

    arrival: Float64
    """float64[N]: seconds from now."""
    like: Int64
    """int64[N]: the one of the past tasks, by its place, of which each is the like."""
    gang: Int64
    """int64[N]: those of one number, from 0 on, come and are placed together; ``ALONE`` for none."""
    until: float
    """Seconds from now for which this is all that comes."""


@dataclass(frozen=True, slots=True)
class PastArrivals:
    """N tasks in S submissions: they came one by one, or several at a time."""

    window: float
    """Seconds of past in which they came."""
    template: Int64
    """int64[N]: what each is; submission after submission."""
    family: Int64
    """int64[N]: tasks of one number run for similar times."""
    stated: Float64
    """float64[N]: seconds that each says it runs, endless where it does not."""
    first: Int64
    """int64[S+1]: where each submission begins, and the end."""
    ganged: NDArray[np.bool_]
    """bool[S]: whether the tasks of each are placed together."""

    def __len__(self) -> int:
        return len(self.ganged)

    def draw_future(self, horizon: float, random: np.random.Generator) -> ExpectedArrivals:
        """Return what comes within so many seconds, or until there are ``MOST_TASKS``."""
        if not len(self):
            return ExpectedArrivals(np.zeros(0), self.template, self.template, horizon)
        rate = float(random.gamma(len(self) + 0.5)) / self.window
        most = max(1, MOST_TASKS * len(self) // len(self.template))
        count = int(random.poisson(min(rate * horizon, 2.0 * most)))
        if count > most:
            count, horizon = most, most / rate
        when = np.sort(random.random(count) * horizon)
        chosen = random.integers(len(self), size=count)
        sizes = np.diff(self.first)[chosen]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        like = np.repeat(self.first[:-1][chosen], sizes) + within
        numbers = np.where(self.ganged[chosen], np.arange(count), ALONE)
        return ExpectedArrivals(np.repeat(when, sizes), like, np.repeat(numbers, sizes), horizon)


def gather_arrivals(came: Iterable[PastTask], window: float) -> PastArrivals:
    """Return what came in the last ``window`` seconds."""
    together: dict[Hashable, list[PastTask]] = {}
    for place, task in enumerate(came):
        together.setdefault((place,) if task.submission is None else task.submission, []).append(task)
    ordered = [task for each in together.values() for task in each]
    return PastArrivals(
        window,
        np.array([task.template for task in ordered], dtype=np.int64),
        np.array([task.family for task in ordered], dtype=np.int64),
        np.array([task.stated for task in ordered], dtype=np.float64),
        np.cumsum([0, *map(len, together.values())], dtype=np.int64),
        np.array([each[0].ganged and len(each) > 1 for each in together.values()], dtype=np.bool_),
    )
