"""Costs of the arcs that a network chooses its columns from, looked at once for all who ask.

Rows of costs are longer than a processor's cache when taken together. Whoever wants to know something about each of
them waits for memory, so all that needs whole rows is found in one go: the least cost on each machine, and the costs on
those machines that are likely to be used, from which columns are chosen and most left-out arcs are priced.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Residual
from firmament.solvers.base import Int32


class Offers:
    """The arcs of waiting classes without pins (all machines of a pinned set are columns from the start).

    ``classes``: int64[U], ascending; ``shapes``: int64[U], theirs; ``fits``: maps each waiting shape to
    ``residual.fits(shape)``; ``likely``: machines that are likely to be used, ascending; ``likely_costs``: int32[U, L],
    costs of a task there; ``cheapest``: int32[M], least cost of any class.
    """

    def __init__(self, residual: Residual, fits: dict[int, Bool], likely: Int64) -> None:
        self.problem = problem = residual.problem
        self.fits, self.likely = fits, likely
        self.classes = np.setdiff1d(residual.active(), np.array(list(problem.pins), dtype=np.int64))
        self.shapes = problem.shape[self.classes]
        self.cheapest: Int32 = np.full(problem.machines, np.iinfo(np.int32).max, dtype=np.int32)
        self.likely_costs: Int32 = np.empty((len(self.shapes), len(likely)), dtype=np.int32)
        for row, shape in enumerate(self.shapes.tolist()):
            line = problem.cost[shape]
            np.minimum(self.cheapest, line, out=self.cheapest)
            line.take(likely, out=self.likely_costs[row], mode="clip")

    def costs(self, rows: Int64, machines: Int64) -> Int32:
        """int32[A, M']: costs of the classes ``rows`` (places among ``classes``); an array of its own.

        They are at hand if ``machines`` is ``likely`` itself.
        """
        if machines is self.likely:
            return self.likely_costs[rows]
        costs = np.empty((len(rows), len(machines)), dtype=np.int32)
        for row, shape in enumerate(self.shapes[rows].tolist()):
            self.problem.cost[shape].take(machines, out=costs[row], mode="clip")
        return costs

    def usable(self, rows: Int64, machines: Int64) -> Bool:
        """bool[A, M']: which of ``machines`` classes fit."""
        usable = np.empty((len(rows), len(machines)), dtype=np.bool_)
        for row, shape in enumerate(self.shapes[rows].tolist()):
            self.fits[shape].take(machines, out=usable[row], mode="clip")
        return usable

    def within_reach(self, machine_price: Int64, dearest: int) -> Int64:
        """Machines that could violate for some class, if the dearest class's price is ``dearest`` half units."""
        return np.flatnonzero(2 * self.cheapest.astype(np.int64) + machine_price < dearest)
