"""Moves that free nodes: these are cordoned before, and stay so once they are empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.rescheduling.move import MoveOutcome, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from poseidon.rescheduling.cluster_access import ClusterAccess
    from poseidon.rescheduling.mover import Mover
    from poseidon.rescheduling.planning import PlannedMoves

_GONE = (Result.MOVED, Result.ELSEWHERE)


async def carry_out(planned: PlannedMoves, mover: Mover, access: ClusterAccess) -> list[MoveOutcome]:
    """Make the moves of a plan; returns what became of those that were begun. Raises ``KubeError``.

    Freed nodes stay cordoned, for whoever takes machines away; one that could not be freed takes pods again.
    """
    for node in planned.given_back:
        await access.uncordon(node)
    for node in planned.freed:
        await access.cordon(node)
    outcomes = await mover.carry_out(planned.waves)
    for node in unfreed(planned, outcomes):
        await access.uncordon(node)
    return outcomes


def unfreed(planned: PlannedMoves, outcomes: Sequence[MoveOutcome]) -> list[str]:
    """Return the nodes that were to be freed and that some pod has not left."""
    moves = [move for wave in planned.waves.waves for move in wave]
    gone = {outcome.move.pod for outcome in outcomes if outcome.result in _GONE}
    staying: Iterable[str] = {move.source for move in moves if move.pod not in gone}
    return sorted(set(planned.freed).intersection(staying))
