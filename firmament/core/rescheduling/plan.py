"""What a plan of moves is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """A task that runs on ``source`` goes to ``target``; ``gain``: points that this saves, the move's cost deducted."""

    uid: str
    source: str
    target: str
    gain: float


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Moves that fit together, in order of gain.

    ``cost_before``, ``cost_after``: points that models charge all tasks that may move, before and after, crowding by
    tasks of mean size included. ``bound``: no plan, of any number of moves, comes to less, if each of its moves counts
    with its price.
    """

    moves: tuple[Move, ...]
    cost_before: float
    cost_after: float
    bound: float
