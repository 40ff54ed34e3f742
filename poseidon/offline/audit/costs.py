"""Compares the cost of today's placement with the best one, and finds moves that pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poseidon.embedding import EmbeddedTrials
from poseidon.offline.movable import PaidMove
from protos.conventions.command_line import format_count

_POINTS = 20
"""Of the frontier."""

_SHOWN = 20
"""Moves that a table shows: those that save most."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """No plan of so many ``moves`` saves more than ``most_saved`` points; ``saved``: what is known to be possible if
    pods fitted by number.
    """

    moves: int
    saved: float
    most_saved: float


@dataclass(frozen=True, slots=True)
class Costs:
    """Points that cost models charge the pods that may move: ``now``, and ``after`` the ``moves`` that pay, all of them
    tried. ``frontier``: what any number of moves could save, few first; the last is about all of them.
    """

    now: float
    after: float
    moves: tuple[PaidMove, ...]
    frontier: tuple[Bounded, ...]

    @property
    def lowest(self) -> float:
        """Points that pods cost at least, wherever they are."""
        return self.now - self.frontier[-1].most_saved

    @property
    def summary(self) -> str:
        """One sentence for people."""
        paying = (
            f"{format_count(len(self.moves), 'move')} would bring that to {self.after:,.0f}"
            if self.moves
            else "no move pays"
        )
        return f"The pods that may move cost {self.now:,.0f} points; {paying}, and nothing below {self.lowest:,.0f}."

    def rows(self) -> list[tuple[str, ...]]:
        """Return the moves that save most, as rows of a table."""
        return [(each.pod, each.source, each.target, f"{each.saves:,.0f}") for each in self.moves[:_SHOWN]]

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
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
    """Return what moves could save; None if no pod may move.

    ``prices``: what moving a pod costs by itself, in points; ``nodes``: where pods are; both by uid. Each move has to
    save ``move_cost`` points beside that; there are no more than ``budget``.
    """
    plan = trials.cheaper(prices, move_cost, budget)
    frontier = trials.frontier(prices, _POINTS)
    if not frontier:
        return None
    moves = (PaidMove(each.uid, nodes[each.uid], each.target, each.gain) for each in plan.moves)
    bounded = (Bounded(each.moves, each.saved, each.most_saved) for each in frontier)
    return Costs(plan.cost_before, plan.cost_after, tuple(moves), tuple(bounded))
