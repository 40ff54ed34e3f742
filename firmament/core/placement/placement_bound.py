"""How many tasks can be placed at most, without placing any: where so many are, a search for more is in vain."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual, machine_units


def most_placed(residual: Residual, classes: Int64) -> int:
    """Upper bound on the tasks of ``classes`` that ``residual`` takes together, whatever their mix.

    On each machine that some of them fits, the room divided by the smallest of their requests; rules between tasks and
    limits of models would only lower it.
    """
    shapes = np.unique(residual.problem.shape[classes]).tolist()
    fits = residual.fits_of(shapes)
    open_to = np.zeros(residual.problem.machines, dtype=np.bool_)
    for shape in shapes:
        open_to |= fits[shape]
    return int(machine_units(residual, classes)[open_to].sum())


def cannot_be_bettered(problem: PlacementProblem, placed: Assignments) -> bool:
    """Whether no placement has more tasks than ``placed`` of some priority, and as many of each higher one.

    True is certain; False says nothing. To place more of a priority, more have to be placed of it and the higher ones
    together; so it is enough that these are as many as can be, for each priority that a waiting task has.
    """
    counts = problem.counts.sum(axis=1)
    done = np.zeros_like(counts)
    np.add.at(done, placed.cls, placed.count)
    residual = Residual(problem)
    for rank in np.unique(problem.priority[done < counts]).tolist():
        important = np.flatnonzero((problem.priority >= rank) & (counts > 0))
        if done[important].sum() < most_placed(residual, important):
            return False
    return True
