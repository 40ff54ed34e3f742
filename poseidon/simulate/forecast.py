"""Expected starts of what waits: a simulation goes on from its present state several times, with run times drawn anew.

Nothing new arrives, nodes neither fail nor come. Run times are drawn of what is known about tasks of the same kind, for
tasks that run under the condition that they have run as long as they have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poseidon.simulate.checkpoint import from_bytes, to_bytes
from poseidon.simulate.engine import Simulation
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Float64, Int64

DRAWS = 20
"""Futures that are simulated: the interval leaves out one at each end."""
LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class RunTimes:
    """What is known about the run times of N tasks."""

    family: Int64
    """int64[N]: tasks of one number run for similar times."""
    stated: Float64
    """float64[N]: seconds that each says it runs, endless where it does not; what is learnt goes before."""
    learnt: Mapping[int, Float64]
    """By family, seconds that its tasks ran, ascending, at least one."""

    def draw_left(self, task: int, elapsed: float, random: np.random.Generator) -> float:
        """Return how long a task that has run for ``elapsed`` seconds goes on, endless where nothing is known.

        A task that has outlived all that is known goes on for a part of the time that it has run.
        """
        known = self.learnt.get(int(self.family[task]))
        if known is None:
            return max(float(self.stated[task]) - elapsed, 1.0)
        longer = known[np.searchsorted(known, elapsed, side="right") :]
        if len(longer):
            return float(longer[random.integers(len(longer))]) - elapsed
        return elapsed * float(random.uniform(0.1, 1.0))


@dataclass(frozen=True, slots=True)
class Forecast:
    """When each of ``tasks`` is expected to get its node, in seconds from now; endless: not within the horizon."""

    tasks: Int64
    """Numbers of the tasks that wait."""
    median: Float64
    """Half of the futures have begun it by then."""
    low: Float64
    """One in twenty has."""
    high: Float64
    """Nineteen in twenty have."""


def forecast_starts(
    simulation: Simulation, run_times: RunTimes, *, horizon: float, seed: int = 1, draws: int = DRAWS
) -> Forecast:
    """Return when what waits now is expected to get its node; the simulation itself stays as it is.

    ``horizon``: seconds that are looked ahead.
    """
    waiting = simulation.tasks.find(TaskProgress.WAITING)
    starts = np.full((draws, len(waiting)), np.inf)
    if len(waiting):
        random = np.random.default_rng(seed)
        kept = to_bytes(simulation)
        for draw in range(draws):
            starts[draw] = _play(from_bytes(kept), run_times, waiting, horizon, random)
    median, low, high = np.quantile(starts, (0.5, LOW, HIGH), axis=0, method="nearest")
    return Forecast(waiting, median, low, high)


def _play(
    future: Simulation, run_times: RunTimes, waiting: Int64, horizon: float, random: np.random.Generator
) -> Float64:
    """Let one future happen; returns float64[N], seconds until each task that waits has begun."""
    now, tasks = future.now, future.tasks
    _draw_run_times(future, run_times, random)
    future.let_nothing_new_happen()
    future.horizon = now + horizon
    future.wakes = now
    begun = tasks.first_begun
    again = begun[waiting] >= 0.0  # evicted before: the next start counts
    future.run(stop=lambda: not (tasks.begun[waiting] < 0.0).any())
    starts = np.where(again, tasks.begun[waiting], begun[waiting])
    return np.where(starts >= now, starts - now, np.inf)


def _draw_run_times(future: Simulation, run_times: RunTimes, random: np.random.Generator) -> None:
    """Give all tasks that run or wait run times; members of a gang have the same."""
    tasks, now = future.tasks, future.now
    alive = np.flatnonzero((tasks.state == TaskProgress.WAITING) | (tasks.state == TaskProgress.RUNNING))
    drawn: dict[tuple[int, float], float] = {}
    left = np.empty(len(alive))
    for place, task in enumerate(alive.tolist()):
        elapsed = now - float(tasks.begun[task]) if tasks.state[task] == TaskProgress.RUNNING else 0.0
        gang = int(tasks.work.gang[task])
        key = gang, elapsed
        if gang == ALONE or key not in drawn:
            drawn[key] = run_times.draw_left(task, elapsed, random)
        left[place] = elapsed + drawn[key]
    tasks.set_left(alive, left)
