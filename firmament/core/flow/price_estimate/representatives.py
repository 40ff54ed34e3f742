"""Some shapes that stand for all where there are too many to price each.

What matters is that demand stays balanced: if tasks that suit one kind of machine are drawn too often, these machines
come out too dear, all others too cheap, and columns are chosen at prices that are wrong everywhere. So shapes are laid
in a row by what they prefer, neighbours with neighbours, and drawn from it at even distances.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.tuning import PriceTuning


def representatives(
    problem: PlacementProblem, tasks: Float64, most: int, tuning: PriceTuning
) -> tuple[Int64, Float64]:
    """At most ``most`` shapes that stand for all; ``tasks``: float64[S], how many of each wait.

    Systematic sampling by number of tasks. Returns shape numbers, ascending, and the tasks that each stands for, which
    sum to the number of waiting tasks.
    """
    present = np.flatnonzero(tasks > 0)
    if len(present) <= most:
        return present, tasks[present]
    present = present[np.argsort(_preferences(problem, present, tuning), kind="stable")]
    total = float(tasks.sum())
    points = (np.arange(most) + 0.5) * (total / most)
    hit = present[np.searchsorted(np.cumsum(tasks[present]), points)]
    shapes, times = np.unique(hit, return_counts=True)
    return shapes.astype(np.int64), times.astype(np.float64) * (total / most)


def _preferences(problem: PlacementProblem, shapes: Int64, tuning: PriceTuning) -> Float64:
    """Which of two kinds of machines each of ``shapes`` prefers, and how much: float64[S'].

    The first principal component of their costs on some machines, apart from what tasks cost everywhere and what
    machines cost everyone; by the power method.
    """
    some = np.random.default_rng(problem.machines).permutation(problem.machines)[: tuning.preferences]
    cost = problem.cost.take(some, axis=1)[shapes].astype(np.float64)
    cost -= cost.mean(axis=1)[:, None]
    cost -= cost.mean(axis=0)
    # Not from equal parts: each row sums to 0, so nothing would be left of them.
    along = cost[np.argmax(np.abs(cost).max(axis=1))]
    preferred: Float64 = np.zeros(len(shapes))
    for _ in range(tuning.power_steps):
        length = float(np.sqrt(along @ along))
        if length == 0.0:  # all prefer the same
            break
        preferred = np.einsum("sm,m->s", cost, along / length)
        along = np.einsum("sm,s->m", cost, preferred)
    return preferred
