"""Measures how a round's time grows across sizes at which algorithms change: no size may be much slower than the
next.

Each series varies one size. Its points are those edges, stated by the tuning objects, the sizes next to them, and more
between, so that neighbours are at most a factor of 1.5 apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from benchmarks.algorithm import run_events
from benchmarks.environment import environment
from benchmarks.scenario import Scenario, machine_events, task_events
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import Event
from firmament.core.flow.column_generation import GenerationOptions
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS
from firmament.solvers.ortools_solver import OrToolsSolver

FACTOR = 1.5
"""Largest ratio of neighbouring sizes."""

BOUND = 1.5
"""Largest ratio of the time per task between neighbouring sizes; across an edge, in either direction."""


@dataclass(frozen=True, slots=True)
class Series:
    """``scenario``: the work at a size; ``edges``: the last sizes before an algorithm changes, within the range."""

    name: str
    what: str
    low: int
    high: int
    edges: tuple[int, ...]
    scenario: Callable[[int], Scenario]


def series() -> tuple[Series, ...]:
    """Return all series, with the edges that the tuning objects state."""
    tuning, nodes = PlacementTuning(), 10_000
    return (*_series_of_flow(tuning, nodes), *_series_of_searches(tuning, nodes))


def _series_of_flow(tuning: PlacementTuning, nodes: int) -> tuple[Series, ...]:
    """Return the series with edges of the network and its prices."""
    columns, prices, handful = GenerationOptions(), tuning.flow.prices, tuning.flow.reduction.handful
    fewest = columns.sampled / 2
    return (
        Series(
            "tasks",
            "tasks of up to 100 classes on 10,000 machines",
            1,
            2 * prices.large,
            (handful, int(fewest / columns.samples_most), int(fewest / columns.samples), prices.large - 1),
            lambda size: Scenario(nodes, size, min(size, 100)),
        ),
        Series(
            "classes",
            "classes of 10,000 tasks on 10,000 machines",
            1,
            1_280,
            (prices.many - 1, prices.levelled_shapes, prices.sampled_shapes),
            lambda size: Scenario(nodes, nodes, size),
        ),
        Series(
            "machines",
            "machines for 1,000 tasks of 20 classes",
            150,
            20_000,
            (
                tuning.flow.columns.candidates_enough,
                2 * tuning.flow.columns.looked_at,
                2 * prices.looked_at,
                10 * prices.looked_at,
            ),
            lambda size: Scenario(size, 1_000, 20),
        ),
        Series(
            "machines, few tasks",
            f"machines for {handful} tasks of 4 classes",
            12,
            800,
            (2 * handful - 1,),
            lambda size: Scenario(size, handful, 4),
        ),
        Series(  # networks of up to ``columns.whole`` columns and steps are solved whole, so no size is a threshold
            "small rounds",
            "machines, each with a task of one of 10 classes",
            20,
            400,
            (),
            lambda size: Scenario(size, size, 10),
        ),
    )


def _series_of_searches(tuning: PlacementTuning, nodes: int) -> tuple[Series, ...]:
    """Return the series with edges of the searches after the flow."""
    spread = tuning.spread
    return (
        Series(
            "owners",
            "Deployments of 10,000 tasks on 10,000 machines in three zones",
            1,
            1_600,
            (spread.most_places // nodes, spread.most_classes, spread.most_cells // nodes),
            lambda size: Scenario(nodes, nodes, min(size, 100), owners=size),
        ),
        Series(
            "tasks with owners",
            "tasks of 100 Deployments on 10,000 machines in three zones",
            500,
            8_000,
            (spread.many,),
            lambda size: Scenario(nodes, size, 100, owners=100),
        ),
        Series(
            "more than there is room for",
            "tasks of 20 classes, eight for each machine, of which many find no room",
            125,
            8_000,
            (tuning.relocation.most_tasks,),
            lambda size: Scenario(size // 8, size, 20, "0.95"),
        ),
    )


def sizes(low: int, high: int, edges: Iterable[int]) -> list[int]:
    """Return ``low``, ``high``, the edges and the sizes after them, and more so that neighbours are within
    ``FACTOR``.
    """
    fixed = sorted({low, high, *(size for edge in edges for size in (edge, edge + 1) if low <= size <= high)})
    found = fixed[:1]
    for begin, end in pairwise(fixed):
        steps = 1
        while end > begin * FACTOR**steps:
            steps += 1
        found += [round(begin * (end / begin) ** (step / steps)) for step in range(1, steps)] + [end]
    return sorted(set(found))


def measure_sweep(
    chosen: Iterable[Series], *, runs: int, most: int | None, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return processor seconds of first rounds at every size of the ``chosen`` series, up to ``most``:
    medians of ``runs``.

    Runs go through all sizes in turn, so that a machine that becomes slower meanwhile spoils no ratio.
    """
    results = []
    for each in chosen:
        high = each.high if most is None else max(each.low, min(each.high, most))
        points = sizes(each.low, high, each.edges)
        seconds: dict[int, list[float]] = {size: [] for size in points}
        cluster = _clusters()
        for number in range(runs + 1):
            progress(f"{each.name}: run {number} of {runs}" if number else f"{each.name}: warming up")
            for size in points:
                taken = _seconds(each.scenario(size), cluster)
                if number:
                    seconds[size].append(taken)
        results.append(_result(each, seconds))
    return {"kind": "sweep", "environment": environment(), "bound": BOUND, "results": results}


def _clusters() -> Callable[[Scenario], list[Event]]:
    """Return a function that returns the machines of a scenario, made once for equal ones; events are never changed."""
    made: dict[Scenario, list[Event]] = {}

    def cluster(scenario: Scenario) -> list[Event]:
        same = replace(scenario, tasks=0, classes=0, owners=min(1, scenario.owners))
        if same not in made:
            made[same] = machine_events(same)
        return made[same]

    return cluster


def _seconds(scenario: Scenario, cluster: Callable[[Scenario], list[Event]]) -> float:
    """Return the processor seconds of a first round."""
    configuration = CoreConfiguration(spread=SYSTEM_DEFAULTS if scenario.owners else ())
    run = run_events(cluster(scenario), task_events(scenario), OrToolsSolver(), configuration)
    return run.processor_seconds


def _result(each: Series, seconds: dict[int, list[float]]) -> dict[str, Any]:
    points: list[dict[str, Any]] = []
    before: float | None = None
    for size, all_seconds in seconds.items():
        tasks, median = each.scenario(size).tasks, statistics.median(all_seconds)
        growth = None if before is None else median / tasks / before
        before = median / tasks
        edge = size - 1 in each.edges
        steep = growth is not None and (growth > BOUND or (edge and growth < 1 / BOUND))
        points.append(
            {
                "size": size,
                "edge": edge,
                "tasks": tasks,
                "seconds": median,
                "allSeconds": all_seconds,
                "growth": growth,
                "steep": steep,
            }
        )
    return {"name": each.name, "what": each.what, "points": points}
