"""What is known about how long tasks run: what they state, and how long others of their family have run.

Tasks that still run count as well, as having run at least so long: else the first that end, which are the short ones,
would stand for all (Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958). Those that began
before the first end that is known count from the age that they had then: of their like, the short ones are forgotten
already (Lynden-Bell, "A method of allowing for known observational selection in small samples", 1971). How much so few
tell is uncertain: each future weighs them anew (Rubin, "The Bayesian bootstrap", 1981).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from poseidon.simulate.workloads.columns import Float64, Int64


@dataclass(frozen=True, slots=True)
class KnownRuns:
    """How long tasks of one family run, as far as one future has it."""

    seconds: Float64
    """float64[R]: run times of those that have ended, ascending."""
    ended_by: Float64
    """float64[R]: the chance that a task has ended by then, ascending, at most 1."""

    def draw_left(self, elapsed: float, random: np.random.Generator) -> float:
        """Return how long a task that has run for ``elapsed`` seconds goes on.

        A task that has outlived all that is known goes on for a part of the time that it has run.
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
    """R tasks of one family that have run, at least one of which has ended."""

    age: Float64
    """float64[R]: seconds that each had run when it ended, or until now."""
    ended: NDArray[np.bool_]
    """bool[R]: whether it has ended."""
    entered: Float64
    """float64[R]: seconds that each had run when its end would first have been seen, at most ``age``."""

    def estimate(self, weights: Float64 | None = None) -> KnownRuns:
        """Return how long tasks of this family run; ``weights``: float64[R], above 0, how much each counts, None for
        equally.

        Of short runs that are known of a few only, while most were seen later, the product would make too much: ends at
        which less than the root of all were under way count only if nobody is seen later (after Lai and Ying,
        "Estimating a distribution function with truncated and censored data", 1991).
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
        """Return how long tasks of this family run in one drawn future."""
        return self.estimate(random.exponential(size=len(self.age)) + 1e-9)


def _sum_from(values: Float64, weight: Float64, least: Float64, *, after: bool = False) -> Float64:
    """Return the weight of all values that are at least, or ``after``: more than, each of ``least``."""
    order = np.argsort(values, kind="stable")
    left = np.concatenate([np.cumsum(weight[order][::-1])[::-1], [0.0]])
    found = np.searchsorted(values[order], least, side="right" if after else "left")
    return np.asarray(left[found], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class DrawnRuns:
    """How long tasks run in one future."""

    of: RunTimes
    """What is known of them."""
    known: Mapping[int, KnownRuns]
    """By family."""

    def draw_left(self, task: int, elapsed: float, random: np.random.Generator) -> float:
        """Return how long a task that has run for ``elapsed`` seconds goes on, endless where nothing is known."""
        return self.draw_run(int(self.of.family[task]), float(self.of.stated[task]), elapsed, random)

    def draw_run(self, family: int, stated: float, elapsed: float, random: np.random.Generator) -> float:
        """Return the same of any task of a family that states so many seconds, endless for none.

        What is learnt counts, but for what would be longer than stated.
        """
        known = self.known.get(family)
        left = stated - elapsed
        return max(left if known is None else min(left, known.draw_left(elapsed, random)), 1.0)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """What is known about the run times of N tasks."""

    family: Int64
    """int64[N]: tasks of one number run for similar times."""
    stated: Float64
    """float64[N]: seconds after which each says that it has ended, endless where it does not."""
    together: Int64
    """int64[N]: tasks of one number that began together end together; ``ALONE`` for none."""
    learnt: Mapping[int, PastRuns]
    """By family."""

    def draw_future(self, random: np.random.Generator) -> DrawnRuns:
        """Return how long tasks run in one future."""
        return DrawnRuns(self, {family: past.draw_estimate(random) for family, past in self.learnt.items()})
