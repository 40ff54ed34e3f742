"""Compares the cost of the present placement with the lowest possible one, and finds moves that pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poseidon.embedding import EmbeddedTrials
from poseidon.offline.move_costs import PaidMove
from protos.conventions.number_formats import format_count

_POINTS = 20
"""Number of points on the curve of savings by number of moves (the frontier)."""

_SHOWN = 20
"""The most moves that a table shows; it shows those that save most."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """An upper bound: no plan with this number of ``moves`` saves more than ``most_saved`` points.

    ``saved`` is what so many moves save if only the number of pods per node is limited, in points.
    """

    moves: int
    saved: float
    most_saved: float


@dataclass(frozen=True, slots=True)
class Costs:
    """Cost of the pods that may move, in points: ``now``, and ``after`` the ``moves`` that pay.

    ``frontier`` says what a given number of moves could save, in ascending order of that number; its last point is
    for any number. A trial round has carried out all ``moves``, so they are possible together.
    """

    now: float
    after: float
    moves: tuple[PaidMove, ...]
    frontier: tuple[Bounded, ...]

    @property
    def lowest(self) -> float:
        """Lower bound, in points, on the cost of these pods in any placement."""
        return self.now - self.frontier[-1].most_saved

    @property
    def summary(self) -> str:
        """The costs and savings in one sentence, for people."""
        paying = (
            f"{format_count(len(self.moves), 'move')} would bring that to {self.after:,.0f}"
            if self.moves
            else "no move pays"
        )
        lowest = f"No plan of moves could bring it below {self.lowest:,.0f}."
        return f"The pods that may move cost {self.now:,.0f} points; {paying}. {lowest}"

    def rows(self) -> list[tuple[str, ...]]:
        """Return the moves that save most, as rows of a table."""
        return [(each.pod, each.source, each.target, f"{each.saves:,.0f}") for each in self.moves[:_SHOWN]]

    def as_json(self) -> dict[str, Any]:
        """Return the costs as the JSON object that the documents describe."""
        return {
            "now": round(self.now, 2),
            "after": round(self.after, 2),
            "lowest": round(self.lowest, 2),
            "moves": [each.as_json() for each in self.moves],
            "frontier": [
                {"moves": each.moves, "saved": round(each.saved, 2), "mostSaved": round(each.most_saved, 2)}
                for each in self.frontier
            ],
        }


def find_costs(
    trials: EmbeddedTrials,
    prices: Mapping[str, float],
    nodes: Mapping[str, str],
    move_cost: float,
    budget: int | None,
) -> Costs | None:
    """Return what moves could save, or None if no pod may move.

    ``prices`` are the points that moving a pod costs, ``nodes`` the pods' present nodes, each by uid. Each move has
    to save ``move_cost`` points more than its price. At most ``budget`` moves are made, or any number if it is None.
    """
    plan = trials.find_cheaper_moves(prices, move_cost, budget)
    frontier = trials.frontier(prices, _POINTS)
    if not frontier:
        return None
    moves = (PaidMove(each.uid, nodes[each.uid], each.target, each.gain) for each in plan.moves)
    bounded = (Bounded(each.moves, each.saved, each.most_saved) for each in frontier)
    return Costs(plan.cost_before, plan.cost_after, tuple(moves), tuple(bounded))
