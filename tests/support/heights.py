"""Heights for problems that are small enough to follow by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.flow.heights_and_prices import HeightCharge, RoundHeights
from firmament.core.flow.problem import Assignments, PlacementProblem


def with_heights(
    problem: PlacementProblem,
    start: Sequence[float],
    sizes: Sequence[float],
    rates: Sequence[float] | None = None,
) -> PlacementProblem:
    """The problem with costs and crowding of one more model, whose heights these are.

    ``start``, ``rates`` (1 if not given) per machine, ``sizes`` per shape. The model charges whole units.
    """
    rate = np.ones(problem.machines) if rates is None else np.array(rates, dtype=np.float64)
    size = np.array(sizes, dtype=np.float64)
    tasks = np.zeros(len(size))
    np.add.at(tasks, problem.shape, problem.counts.sum(axis=1))
    growth = float(tasks @ size) / max(1.0, float(tasks.sum())) * rate
    raw = np.floor(np.array(start, dtype=np.float64) + size[:, None] * rate).astype(np.int16)
    return replace(
        problem,
        cost=problem.cost + raw.astype(np.int32),
        crowd=problem.crowd + np.ceil(growth).astype(np.int64),
        heights=RoundHeights(
            start=np.array(start, dtype=np.float64),
            rate=rate[None, :],
            amount=size[:, None],
            growth=growth,
            charges=(HeightCharge(raw, 0.0, 1.0, np.inf),),
        ),
    )


def size_cost(problem: PlacementProblem, placed: Assignments) -> float:
    """Units by which tasks cost more, by their sizes, than the network charges for tasks of mean size."""
    shapes = problem.shape.take(placed.cls)
    return problem.heights.compute_cost(placed.cls, shapes, placed.machine, placed.count)
