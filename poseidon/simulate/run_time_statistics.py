"""Estimates how long tasks run, from the times that they state and from other tasks of their family.

Tasks that still run count as well, with the time so far as a lower bound: otherwise the tasks that end first, which
are short, would stand for all (Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958).
Tasks that began before the first known end count only from their age at that time: shorter tasks that began with them
are forgotten already (Lynden-Bell, "A method of allowing for known observational selection in small samples", 1971).
Estimates from few tasks are uncertain. So each simulated continuation draws new weights for the tasks (Rubin, "The
Bayesian bootstrap", 1981).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poseidon.simulate.workloads.columns import Float64, Int64


@dataclass(frozen=True, slots=True)
class KnownRuns:
    """Distribution of the run times of one family, as drawn for one simulated continuation."""

    seconds: Float64
    """float64[R]: run times of the tasks that have ended, ascending."""
    ended_by: Float64
    """float64[R]: probability that a task has ended by each of ``seconds``, ascending, at most 1."""

    def draw_left(self, elapsed: float, random: np.random.Generator) -> float:
        """Draw the remaining run time of a task that has run for ``elapsed`` seconds.

        A task that has run longer than all known ones goes on for a random share of the longest time.
        """
        passed = int(np.searchsorted(self.seconds, elapsed, side="right"))
        before = float(self.ended_by[passed - 1]) if passed else 0.0
        chance = before + float(random.random()) * (1.0 - before)
        place = max(passed, int(np.searchsorted(self.ended_by, chance, side="right")))
        if place < len(self.seconds):
            return float(self.seconds[place]) - elapsed
        longest = max(float(self.seconds[-1]), elapsed)
        return longest * float(random.uniform(1.1, 2.0)) - elapsed


@dataclass(frozen=True, slots=True)
class PastRuns:
    """R tasks of one family that run or have ended, at least one of which has ended."""

    age: Float64
    """float64[R]: seconds for which each had run when it ended, or until now."""
    ended: NDArray[np.bool_]
    """bool[R]: whether each has ended."""
    entered: Float64
    """float64[R]: age of each when we would first have seen it end, at most ``age``."""

    def estimate(self, weights: Float64 | None = None) -> KnownRuns:
        """Return the distribution of run times; ``weights``: float64[R], above 0, the weight of each task, None for
        equal ones.

        The product overrates early ends that few observed tasks were exposed to: ends at which fewer than the square
        root of all tasks were under way count only if all tasks had entered by then (after Lai and Ying, "Estimating
        a distribution function with truncated and censored data", 1991).
        """
        count = len(self.age)
        weight = np.ones(count) if weights is None else weights * (count / weights.sum())
        seconds, place = np.unique(self.age[self.ended], return_inverse=True)
        deaths = np.bincount(place, weights=weight[self.ended], minlength=len(seconds))
        under_way = _sum_from(self.age, weight, seconds) - _sum_from(
            self.entered, weight, seconds, after=True
        )
        counts = (under_way >= np.sqrt(count)) | (seconds >= self.entered.max())
        lasting = np.cumprod(np.where(counts, 1.0 - np.minimum(deaths / under_way, 1.0), 1.0))
        return KnownRuns(seconds, np.asarray(1.0 - lasting, dtype=np.float64))

    def draw_estimate(self, random: np.random.Generator) -> KnownRuns:
        """Draw the distribution of run times for one simulated continuation."""
        return self.estimate(random.exponential(size=len(self.age)) + 1e-9)


def _sum_from(values: Float64, weight: Float64, least: Float64, *, after: bool = False) -> Float64:
    """Return for each of ``least`` the total weight of values that are at least as large, or larger if ``after``."""
    order = np.argsort(values, kind="stable")
    left = np.concatenate([np.cumsum(weight[order][::-1])[::-1], [0.0]])
    found = np.searchsorted(values[order], least, side="right" if after else "left")
    return np.asarray(left[found], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class DrawnRuns:
    """Draws run times of tasks in one simulated continuation."""

    of: RunTimes
    """All knowledge about the run times of the tasks."""
    known: Mapping[int, KnownRuns]
    """Distributions by family."""

    def draw_left(self, task: int, elapsed: float, random: np.random.Generator) -> float:
        """Draw the remaining run time of a task that has run for ``elapsed`` seconds; infinite if nothing is known."""
        return self.draw_run(int(self.of.family[task]), float(self.of.stated[task]), elapsed, random)

    def draw_run(self, family: int, stated: float, elapsed: float, random: np.random.Generator) -> float:
        """Draw the remaining run time of any task of a family; ``stated``: seconds that it states, infinite for
        none.

        The learnt distribution decides, but the result is not longer than the stated rest.
        """
        known = self.known.get(family)
        left = stated - elapsed
        return max(left if known is None else min(left, known.draw_left(elapsed, random)), 1.0)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """The knowledge about the run times of N tasks."""

    family: Int64
    """int64[N]: family of each task; tasks of one family have similar run times."""
    stated: Float64
    """float64[N]: run time in seconds that each states, infinite if it states none."""
    together: Int64
    """int64[N]: tasks with one number that began together end together; ``ALONE`` for none."""
    learnt: Mapping[int, PastRuns]
    """Past runs by family."""

    def draw_future(self, random: np.random.Generator) -> DrawnRuns:
        """Draw a distribution of run times for each family, for one simulated continuation."""
        return DrawnRuns(self, {family: past.draw_estimate(random) for family, past in self.learnt.items()})
