"""Draws future arrivals of tasks from recent ones: they come at a similar rate, each a copy of a past task.

After few arrivals, rate and mixture are uncertain. Each simulated future therefore draws a rate of its own, from the
gamma distribution that is the posterior of a Poisson process' rate (Gelman et al., Bayesian Data Analysis, section
2.6). Each future also draws weights of its own for the past tasks (Rubin, "The Bayesian bootstrap", 1981).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from poseidon.simulate.workloads.columns import ALONE, Float64, Int64

LEAST_WINDOW = 600.0
"""Shortest past, in seconds, from which arrivals are predicted."""
MOST_WINDOW = 6 * 3600.0
"""Longest past, in seconds, that is considered."""
MOST_TASKS = 20_000
"""The most tasks that arrive in one future."""


class PastTask(NamedTuple):
    """A task that arrived recently."""

    template: int
    """Number of the task's kind."""
    family: int
    """Number of the task's family; tasks of one family have similar run times."""
    stated: float
    """Run time in seconds that the task states, infinite if it states none."""
    submission: Hashable = None
    """A key that tasks submitted together share, None for a task submitted alone."""
    ganged: bool = False
    """Whether the tasks of the submission are placed together."""


class ExpectedArrivals(NamedTuple):
    """The N tasks that arrive in one simulated future, in order of arrival."""

    arrival: Float64
    """float64[N]: arrival of each task, in seconds from now."""
    like: Int64
    """int64[N]: position of the past task of which each task is a copy."""
    gang: Int64
    """int64[N]: number of each task's gang, from 0 on; ``ALONE`` for none."""
    until: float
    """Time up to which all arrivals were drawn, in seconds from now."""


@dataclass(frozen=True, slots=True)
class PastArrivals:
    """N tasks that arrived recently in S submissions, each of one or several tasks."""

    window: float
    """Length of the past in which the tasks arrived, in seconds."""
    template: Int64
    """int64[N]: kind of each task, in order of submissions."""
    family: Int64
    """int64[N]: family of each task; tasks of one family have similar run times."""
    stated: Float64
    """float64[N]: run time in seconds that each task states, infinite if it states none."""
    first: Int64
    """int64[S+1]: position of the first task of each submission, and N at the end."""
    ganged: NDArray[np.bool_]
    """bool[S]: whether the tasks of each submission are placed together."""

    def __len__(self) -> int:
        return len(self.ganged)

    def draw_future(self, horizon: float, random: np.random.Generator) -> ExpectedArrivals:
        """Return the arrivals of one randomly drawn future within ``horizon`` seconds, at most ``MOST_TASKS``."""
        if not len(self):
            return ExpectedArrivals(np.zeros(0), self.template, self.template, horizon)
        rate = float(random.gamma(len(self) + 0.5)) / self.window
        most = max(1, MOST_TASKS * len(self) // len(self.template))
        count = int(random.poisson(min(rate * horizon, 2.0 * most)))
        if count > most:
            count, horizon = most, most / rate
        when = np.sort(random.random(count) * horizon)
        weight = random.exponential(size=len(self)) + 1e-9
        chosen = random.choice(len(self), size=count, p=weight / weight.sum())
        sizes = np.diff(self.first)[chosen]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        like = np.repeat(self.first[:-1][chosen], sizes) + within
        numbers = np.where(self.ganged[chosen], np.arange(count), ALONE)
        return ExpectedArrivals(np.repeat(when, sizes), like, np.repeat(numbers, sizes), horizon)


def gather_arrivals(came: Iterable[PastTask], window: float) -> PastArrivals:
    """Return the arrivals of the last ``window`` seconds as columns."""
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
