"""Estimates how long tasks run, from the times that they state and from other tasks of their family.

Tasks that still run also count: the time so far is a lower bound. If only ended tasks counted, those that end first,
which are short, would stand for all (Kaplan and Meier, "Nonparametric estimation from incomplete observations",
1958). Tasks that began before the first known end count only from their age at that time, because shorter tasks that
began with them are already forgotten (Lynden-Bell, "A method of allowing for known observational selection in small
samples", 1971). Estimates from few tasks are uncertain. Each simulated future therefore draws new weights for the
tasks, and spreads the weight of each over the time since the next shorter one (Banks, "Histospline smoothing the
Bayesian bootstrap", 1988). Tasks that are only similar have less weight, as in the prior of a Dirichlet process
(Ferguson, "A Bayesian analysis of some nonparametric problems", 1973). The weights of similar tasks are gamma
variables of that shape, which are exponential variables for a weight of 1. The longest of the known tasks tell how
much longer than all of them the next task may run (Hill, "A simple general approach to inference about the tail of a
distribution", 1975). Of many tasks these are as many as the square root of their number, since run times whose
logarithms are normal end sooner the longer they have lasted, and the tail of all would be too heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poseidon.simulate.workloads.columns import Float64, Int64

LONGER = 0.5
"""Weight of a future task that runs longer than all known ones, relative to the mean weight of a known task."""
LEAST_LONG = 4.0
"""Number of longest known runs that tell the tail, or half of the known ones, if that is less; of more than the square
of this number, the square root.
"""
TAIL = 0.5
"""Tail index of run times when none is known; it counts as much as one known run time."""


@dataclass(frozen=True, slots=True)
class KnownRuns:
    """A distribution of the run times of one family of tasks, as drawn for one simulated future."""

    seconds: Float64
    """float64[R+1]: 0 and the run times of the tasks that have ended, ascending, in seconds."""
    ended_by: Float64
    """float64[R+1]: probability that a task has ended by each of ``seconds``, ascending and below 1.

    Between two of these run times, the probability is linear.
    """
    tail: float
    """Tail index: a task longer than all known ones lasts c times as long with probability c ** (-1 / tail)."""

    def draw_left(self, elapsed: float, random: np.random.Generator) -> float:
        """Draw the remaining run time of a task that has run for ``elapsed`` seconds.

        A task that runs longer than all known ones is compared with the longest of them, or with its own time so far
        if that is longer.
        """
        passed = int(np.searchsorted(self.seconds, elapsed, side="right"))
        before = self._find_ended_by(elapsed, passed)
        chance = before + float(random.random()) * (1.0 - before)
        place = max(passed, int(np.searchsorted(self.ended_by, chance, side="right")))
        if place < len(self.seconds):
            shorter, longer = float(self.seconds[place - 1]), float(self.seconds[place])
            least, most = float(self.ended_by[place - 1]), float(self.ended_by[place])
            return shorter + (longer - shorter) * (chance - least) / (most - least) - elapsed
        longest = max(float(self.seconds[-1]), elapsed)
        return longest * (1.0 - float(random.random())) ** -self.tail - elapsed

    def draw_runs(self, count: int, random: np.random.Generator) -> Float64:
        """Draw the whole run times of ``count`` tasks: float64[count], distributed as ``draw_left`` with no time
        elapsed.
        """
        chance, beyond = random.random(count), random.random(count)
        within = np.interp(chance, self.ended_by, self.seconds)
        longer = float(self.seconds[-1]) * (1.0 - beyond) ** -self.tail
        return np.asarray(np.where(chance < self.ended_by[-1], within, longer), dtype=np.float64)

    def _find_ended_by(self, elapsed: float, passed: int) -> float:
        """Return the probability that a task has ended by ``elapsed``.

        ``passed`` is the number of entries of ``seconds`` that are at most ``elapsed``.
        """
        before = float(self.ended_by[passed - 1])
        if passed == len(self.seconds):
            return before
        since = (elapsed - self.seconds[passed - 1]) / (self.seconds[passed] - self.seconds[passed - 1])
        return before + float(since) * (float(self.ended_by[passed]) - before)


@dataclass(frozen=True, slots=True)
class PastRuns:
    """The run times of R tasks of a family that run or have ended; at least one of them has ended."""

    age: Float64
    """float64[R]: seconds that each task had run when it ended, or has run until now."""
    ended: NDArray[np.bool_]
    """bool[R]: whether each task has ended."""
    entered: Float64
    """float64[R]: age of each task at the time from which its end would have been seen, at most ``age``."""
    weight: Float64
    """float64[R]: weight of each task, from 0 to 1; tasks of the family itself have 1."""

    def estimate(self, weights: Float64 | None = None, longer: float = LONGER) -> KnownRuns:
        """Return the distribution of run times that weighted tasks imply.

        ``weights`` (float64[R], above 0) is the weight of each task; None stands for the field ``weight``. ``longer``
        is the weight of a task that runs longer than all known ones.
        """
        weight = self.weight if weights is None else weights
        order = np.argsort(self.age[self.ended], kind="stable")
        seconds, deaths = self.age[self.ended][order], weight[self.ended][order]
        before = np.concatenate([[0.0], np.cumsum(deaths)[:-1]])
        with_it = before - before[np.searchsorted(seconds, seconds)]
        under_way = _sum_from(self.age, weight, seconds) - _sum_from(
            self.entered, weight, seconds, after=True
        )
        ended_by = 1.0 - np.cumprod(1.0 - deaths / (np.maximum(under_way - with_it, deaths) + longer))
        half = int(np.searchsorted(ended_by, ended_by[-1] / 2.0))
        tail = self._find_tail(seconds[half], seconds, self.weight[self.ended][order])
        return KnownRuns(np.append(0.0, seconds), np.append(0.0, ended_by), tail)

    @staticmethod
    def _find_tail(least: float, seconds: Float64, counts: Float64) -> float:
        """Return the tail index of run times above ``least`` seconds, or above a longer time if many are known.

        ``seconds``: run times of the tasks that have ended, ascending; ``counts``: the weight of each. Tasks that still
        run do not count: among few that have ended, those of large jobs would make the tail too heavy.
        """
        longer = counts.sum() - np.cumsum(counts)
        enough = seconds[int(np.flatnonzero(longer <= max(np.sqrt(counts.sum()), LEAST_LONG))[0])]
        least = max(least, float(enough))
        beyond = seconds > least
        known = float(counts[beyond] @ np.log(seconds[beyond] / least))
        return (TAIL + known) / (1.0 + float(counts[beyond].sum()))

    def draw_estimate(self, random: np.random.Generator) -> KnownRuns:
        """Draw the distribution of run times for one simulated future."""
        return self.estimate(
            random.standard_gamma(self.weight) + 1e-9, LONGER * float(random.exponential()) + 1e-9
        )


def _sum_from(values: Float64, weight: Float64, least: Float64, *, after: bool = False) -> Float64:
    """Return, for each of ``least``, the total weight of the values that are as large (larger if ``after``)."""
    order = np.argsort(values, kind="stable")
    left = np.concatenate([np.cumsum(weight[order][::-1])[::-1], [0.0]])
    found = np.searchsorted(values[order], least, side="right" if after else "left")
    return np.asarray(left[found], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class DrawnRuns:
    """Draws the run times of tasks in one simulated future."""

    of: RunTimes
    """What is known about the run times of the tasks."""
    known: Mapping[int, KnownRuns]
    """Distributions of run times, by family."""

    def draw_left(self, task: int, elapsed: float, random: np.random.Generator) -> float:
        """Draw the remaining run time of a task that has run for ``elapsed`` seconds.

        The time is infinite if nothing is known of the task.
        """
        return self.draw_run(int(self.of.family[task]), float(self.of.stated[task]), elapsed, random)

    def draw_run(self, family: int, stated: float, elapsed: float, random: np.random.Generator) -> float:
        """Draw the remaining run time of any task of a family.

        ``stated`` is the run time in seconds that the task states, infinite for none. The result follows the learnt
        distribution, but is at most the rest of ``stated``.
        """
        known = self.known.get(family)
        left = stated - elapsed
        return max(left if known is None else min(left, known.draw_left(elapsed, random)), 1.0)

    def draw_runs(self, families: Int64, stated: Float64, random: np.random.Generator) -> Float64:
        """Draw the whole run times of tasks of any families, each as ``draw_run`` does with no time elapsed."""
        found = stated.copy()
        for family in np.unique(families).tolist():
            if (known := self.known.get(family)) is not None:
                mine = np.flatnonzero(families == family)
                found[mine] = np.minimum(found[mine], known.draw_runs(len(mine), random))
        return np.maximum(found, 1.0)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Estimates of the run times of N tasks."""

    family: Int64
    """int64[N]: family of each task; tasks of one family have similar run times."""
    stated: Float64
    """float64[N]: run time in seconds that each task states, infinite if it states none."""
    together: Int64
    """int64[N]: a number per task; tasks with one number that began together also end together; ``ALONE`` for none."""
    learnt: Mapping[int, PastRuns]
    """Past runs from which run times are learnt, by family."""

    def draw_future(self, random: np.random.Generator) -> DrawnRuns:
        """Draw a distribution of run times for each family, for one simulated future.

        Families with the same past runs get the same drawn distribution.
        """
        drawn: dict[int, KnownRuns] = {}
        for past in self.learnt.values():
            if id(past) not in drawn:
                drawn[id(past)] = past.draw_estimate(random)
        return DrawnRuns(self, {family: drawn[id(past)] for family, past in self.learnt.items()})
