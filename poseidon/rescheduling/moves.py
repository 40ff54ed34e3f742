"""Types for planned moves, their order in waves, and their outcomes.

A move is made only when its target node has room, and no two pods of one controller move in the same wave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A pod that is to move from one node to another."""

    pod: str
    """Name of the pod, ``namespace/name``."""
    source: str
    """The node that the pod is to leave."""
    target: str
    """The node that the pod's replacement should get."""
    why: str
    """The reason for the move, for people."""
    saves: float
    """Points that the move saves."""
    controller: tuple[str, str, str]
    """Namespace, kind and name of the object that replaces the pod."""
    requests: Mapping[str, int]
    """Amounts that the pod requests by resource, including 1 of ``pods``."""

    def as_json(self) -> dict[str, Any]:
        """Return the move as the JSON object that the documents describe."""
        return {
            "pod": self.pod,
            "from": self.source,
            "to": self.target,
            "why": self.why,
            "saves": round(self.saves, 2),
        }


class Result(Enum):
    """How a move has ended."""

    MOVED = "moved"
    ELSEWHERE = "elsewhere"  # the pod's replacement runs on another node than planned
    RETURNED = "returned"  # the pod's replacement runs on the old node again
    REFUSED = "refused"  # the pod was not evicted
    SKIPPED = "skipped"  # the move was not tried, because the cluster has changed since it was planned
    UNPLACED = "unplaced"  # the pod was evicted, and no replacement has a node yet


@dataclass(frozen=True, slots=True)
class MoveOutcome:
    """The outcome of a move.

    ``replacement`` is ``namespace/name`` of the new pod, "" for none; ``reason`` says why the move did not end as
    planned.
    """

    move: PlannedMove
    result: Result
    replacement: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as the JSON object that the documents describe."""
        return {
            **self.move.as_json(),
            "result": self.result.value,
            "replacement": self.replacement,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Waves:
    """Moves in ``waves``, made one after another; ``left`` are moves whose target nodes never have room."""

    waves: tuple[tuple[PlannedMove, ...], ...]
    left: tuple[PlannedMove, ...]


def divide_into_waves(
    moves: Sequence[PlannedMove], free: Mapping[str, Mapping[str, int]], at_once: int
) -> Waves:
    """Divide moves into waves of at most ``at_once`` moves, those that save most first, otherwise in the given order.

    The first wave has only one move, as a test. ``free`` has the free amounts before the first wave, by node and
    resource. Within a wave, each pod takes room on its target before any pod leaves its old node. No node is
    therefore overcommitted, whatever the order in which the wave's moves happen. Moves that wait for each other in a
    circle are added to ``left``.
    """
    room = {node: Counter(amounts) for node, amounts in free.items()}
    waiting = sorted(moves, key=lambda each: -each.saves)
    waves: list[tuple[PlannedMove, ...]] = []
    while waiting:
        wave: list[PlannedMove] = []
        controllers = set()
        for move in waiting:
            if len(wave) == (at_once if waves else 1):
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
