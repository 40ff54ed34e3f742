"""What is known about how long tasks run: what they state, and how long others of their family have run.

Tasks that still run count as well, as having run at least so long: else the first that end, which are the short ones,
would stand for all (Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poseidon.simulate.workloads.columns import Float64, Int64


@dataclass(frozen=True, slots=True)
class KnownRuns:
    """How long tasks of one family run, at least one of which has ended."""

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


def learn_runs(ended: Float64, running: Float64) -> KnownRuns:
    """Return what is known after some have run for so many seconds, one at least, and others go on after so many."""
    seconds, deaths = np.unique(ended, return_counts=True)
    order = np.sort(np.concatenate([ended, running]))
    at_risk = len(order) - np.searchsorted(order, seconds, side="left")
    lasting = np.cumprod(1.0 - deaths / at_risk, dtype=np.float64)
    return KnownRuns(seconds, np.asarray(1.0 - lasting, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class RunTimes:
    """What is known about the run times of N tasks."""

    family: Int64
    """int64[N]: tasks of one number run for similar times."""
    stated: Float64
    """float64[N]: seconds that each says it runs, endless where it does not; what is learnt goes before."""
    learnt: Mapping[int, KnownRuns]
    """By family."""

    def draw_left(self, task: int, elapsed: float, random: np.random.Generator) -> float:
        """Return how long a task that has run for ``elapsed`` seconds goes on, endless where nothing is known."""
        return self.draw_run(int(self.family[task]), float(self.stated[task]), elapsed, random)

    def draw_run(self, family: int, stated: float, elapsed: float, random: np.random.Generator) -> float:
        """Return the same of any task of a family that states so many seconds, endless for none."""
        known = self.learnt.get(family)
        return max(stated - elapsed if known is None else known.draw_left(elapsed, random), 1.0)
