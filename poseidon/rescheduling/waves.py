"""In which order moves are made: each only when there is room for it, and never two pods of one controller at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from poseidon.rescheduling.move import PlannedMove


@dataclass(frozen=True, slots=True)
class Waves:
    """``waves``: moves made together, one wave after the other; ``left``: those for which there is never room."""

    waves: tuple[tuple[PlannedMove, ...], ...]
    left: tuple[PlannedMove, ...]


def in_waves(
    moves: Sequence[PlannedMove], free: Mapping[str, Mapping[str, int]], at_once: int, first: int = 1
) -> Waves:
    """Divide moves, most gain first, into waves of at most ``at_once``, the ``first`` one smaller to see how it goes.

    ``free``: amounts by node and resource before the first of them. Within a wave a pod takes room on its target before
    any has left its own node, so that nothing is overcommitted whichever of them comes first. Moves that wait for each
    other in a circle are left.
    """
    room = {node: Counter(amounts) for node, amounts in free.items()}
    waiting = sorted(moves, key=lambda each: (-each.saves, each.pod))
    waves: list[tuple[PlannedMove, ...]] = []
    while waiting:
        wave: list[PlannedMove] = []
        controllers = set()
        for move in waiting:
            if len(wave) == (at_once if waves else min(first, at_once)):
                break
            there = room.get(move.target, Counter())
            fits = all(there[resource] >= amount for resource, amount in move.requests.items())
            if fits and move.controller not in controllers:
                wave.append(move)
                controllers.add(move.controller)
                there.subtract(move.requests)
        if not wave:
            break
        for move in wave:
            room.setdefault(move.source, Counter()).update(move.requests)
        waiting = [move for move in waiting if move not in wave]
        waves.append(tuple(wave))
    return Waves(tuple(waves), tuple(waiting))
