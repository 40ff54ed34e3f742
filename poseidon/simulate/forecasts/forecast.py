"""Forecasts when waiting tasks start, by continuing a simulation from its present state several times.

For each continuation, arrivals and run times are drawn at random: arrivals resemble recent ones, run times those of
the same family of tasks. The run time of a running task is drawn under the condition that the task has run for so
long already. Nodes neither fail nor are added. The further a round is in the future, the longer the time between
rounds (``sparse_rounds``). Reservations of machines for overtaken tasks last as long as they really do, so a
reservation that would lapse before the next round closes no machine. A round far ahead offers large tasks all that
became free since the round before, which helps them about as much. Tasks are not moved to make room for others of
their round, because that would take most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poseidon.simulate.checkpoint import from_bytes, to_bytes
from poseidon.simulate.engine import Simulation
from poseidon.simulate.forecasts.past_arrivals import PastArrivals
from poseidon.simulate.forecasts.run_time_statistics import DrawnRuns, RunTimes
from poseidon.simulate.forecasts.sparse_rounds import PlacedTasks, find_interval, thin_out
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Float64, Int64, Work

DRAWS = 20
"""Number of simulated futures.

The real start lies between the earliest and the latest simulated start in 19 of 21 cases.
"""
MOST_WORK = 10_000_000
"""Limit on the effort for all futures.

The effort of a round is the number of its nodes, plus the number of its waiting tasks, plus `ROUND_WORK`. With
`MOST_WORK`, a forecast takes about a minute on one core.
"""
ROUND_WORK = 1000
"""Effort of a round apart from its nodes and tasks."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When each of ``tasks`` is expected to get its node, in seconds from now; infinite means later than ``ahead``."""

    tasks: Int64
    """Numbers of the waiting tasks."""
    median: Float64
    """The time by which a task has started in half of the futures, in seconds from now."""
    low: Float64
    """A task's earliest start in any of the futures, in seconds from now."""
    high: Float64
    """A task's latest start in any of the futures, in seconds from now."""
    ahead: float
    """Seconds for which every future was simulated, unless all tasks had begun earlier."""


@dataclass(frozen=True, slots=True)
class _Future:
    """The result of one simulated future."""

    starts: Float64
    """Seconds until each waiting task has begun, infinite if it has not."""
    ahead: float
    """Seconds that the future was simulated, infinite if all tasks have begun."""


def forecast_starts(
    simulation: Simulation,
    run_times: RunTimes,
    past: PastArrivals,
    *,
    horizon: float,
    seed: int = 1,
    draws: int = DRAWS,
    work: int = MOST_WORK,
) -> Forecast:
    """Return when the waiting tasks are expected to get nodes; ``simulation`` itself stays unchanged.

    ``past`` has the recent arrivals. At most ``horizon`` seconds are simulated. ``work`` limits the effort for all
    futures, in the unit of ``MOST_WORK``; if it is reached, less time is simulated.
    """
    waiting = simulation.tasks.find(TaskProgress.WAITING)
    futures = []
    if len(waiting):
        random = np.random.default_rng(seed)
        kept = to_bytes(simulation)
        for _ in range(draws):
            future = from_bytes(kept)
            futures.append(_simulate_future(future, run_times, past, waiting, horizon, random, work // draws))
    if not futures:
        return Forecast(waiting, np.zeros(0), np.zeros(0), np.zeros(0), horizon)
    starts = np.array([each.starts for each in futures])
    starts.sort(axis=0)
    ahead = min(horizon, *(each.ahead for each in futures))
    return Forecast(waiting, starts[(draws - 1) // 2], starts[0], starts[-1], ahead)


def _simulate_future(
    future: Simulation,
    run_times: RunTimes,
    past: PastArrivals,
    waiting: Int64,
    horizon: float,
    random: np.random.Generator,
    work: int,
) -> _Future:
    """Simulate one future until all waiting tasks have begun, ``horizon`` is reached, or ``work`` is spent."""
    now, tasks = future.now, future.tasks
    runs = run_times.draw_future(random)
    coming, until = _draw_coming(future, runs, past, horizon, random)
    future.let_come(coming)
    _draw_run_times(future, runs, random)
    future.horizon = now + until
    future.wakes = now
    finest = future.round_every
    starts = np.full(len(waiting), np.inf)
    of_rounds = np.random.default_rng(
        int(random.integers(2**62))
    )  # However many rounds there are, others draw the same.
    placed = PlacedTasks(tasks, _number_units(run_times.together, coming.gang), of_rounds)
    spent = rounds = 0

    def note_progress(moment: float) -> None:
        """Note which tasks have begun, and lengthen the interval between rounds in proportion to the simulated time."""
        nonlocal spent, rounds
        interval = float(find_interval(moment - now, finest))
        placed.take_round(moment, interval)
        begun = tasks.begun[waiting]
        starts[:] = np.where(np.isinf(starts) & (begun >= now), begun - now, starts)
        size = (
            ROUND_WORK + int(future.machines.there.sum()) + int((tasks.state == TaskProgress.WAITING).sum())
        )
        spent += size * (future.record.rounds - rounds)
        rounds = future.record.rounds
        future.round_every = interval

    future.scheduler.become_forecast()
    future.run(
        note=note_progress,
        again=lambda: placed.some_ended,
        stop=lambda: spent > work or not np.isinf(starts).any(),
    )
    if not np.isinf(starts).any():
        return _Future(starts, np.inf)
    return _Future(starts, future.now - now if spent > work else until)


def _number_units(together: Int64, gang: Int64) -> Int64:
    """Return a number per task, equal for tasks that end together: first for known tasks, then for those to come."""
    known = np.where(together == ALONE, -1 - np.arange(len(together)), together)
    coming = np.where(gang == ALONE, np.arange(len(gang)), len(gang) + gang)
    return np.concatenate([known, coming + len(together)])


def _draw_coming(
    future: Simulation, runs: DrawnRuns, past: PastArrivals, horizon: float, random: np.random.Generator
) -> tuple[Work, float]:
    """Return tasks that arrive in the future, each a copy of a past one, and the seconds for which they are drawn."""
    found = past.draw_future(horizon, random)
    work = future.tasks.work
    alone = np.where(found.gang == ALONE, -1 - np.arange(len(found.gang)), found.gang)
    _, first, place = np.unique(alone, return_index=True, return_inverse=True)
    like = found.like[first]
    lasting = runs.draw_runs(past.family[like], past.stated[like], random)
    interval = find_interval(found.arrival[first], future.round_every)
    thinned, comes = thin_out(lasting, interval, random)
    lasting, comes = thinned[place], comes[place]
    coming = Work(
        work.templates,
        future.now + found.arrival[comes],
        lasting[comes],
        past.template[found.like[comes]],
        found.gang[comes],
    )
    return coming, found.until


def _draw_run_times(future: Simulation, runs: DrawnRuns, random: np.random.Generator) -> None:
    """Draw run times for all waiting and running tasks; tasks that begin and end together get the same."""
    tasks, now = future.tasks, future.now
    alive = np.flatnonzero((tasks.state == TaskProgress.WAITING) | (tasks.state == TaskProgress.RUNNING))
    drawn: dict[tuple[int, float], float] = {}
    left = np.empty(len(alive))
    for place, task in enumerate(alive.tolist()):
        elapsed = now - float(tasks.begun[task]) if tasks.state[task] == TaskProgress.RUNNING else 0.0
        group = int(runs.of.together[task])
        key = group, elapsed
        if group == ALONE or key not in drawn:
            drawn[key] = runs.draw_left(task, elapsed, random)
        left[place] = elapsed + drawn[key]
    tasks.set_left(alive, left)
