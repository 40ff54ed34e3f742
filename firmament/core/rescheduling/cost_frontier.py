"""What any number of moves could save: how far today's placement is from the best there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.rescheduling.move_network.frontier import frontier
from firmament.core.rescheduling.move_network.search import MoveSearch, SearchOptions
from firmament.core.rescheduling.priced_moves import priced_moves
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import Solver

_GAP = 0.005
"""How far the proof of each point may be off, as a part of what is saved."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """So many ``moves`` save ``saved`` points if tasks fit by number; none of as many save more than ``most_saved``."""

    moves: int
    saved: float
    most_saved: float


def cost_frontier(
    scheduler: Scheduler, prices: Mapping[str, float], points: int, solver: Solver
) -> tuple[CostPoint, ...]:
    """Return what moves of bound tasks with ``prices`` (uid -> points for moving it) could save, few moves first.

    The last point is about any number of moves. Raises ``SolverError``.
    """
    problem = priced_moves(scheduler, prices)
    if problem is None:
        return ()
    search = MoveSearch(problem.problem, solver, SearchOptions(gap=_GAP))
    return tuple(
        CostPoint(each.moves, each.saved / COST_UNITS_PER_POINT, each.most_saved / COST_UNITS_PER_POINT)
        for each in frontier(search, points)
    )
