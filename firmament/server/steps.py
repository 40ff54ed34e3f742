"""Counts the steps of a driver's stream that have been applied, so that a recording can say after which of them a round
was decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from firmament.core.results import DecidedOn, RoundResult


class RoundBeginning(NamedTuple):
    """How many steps had been applied when a round began, and when that was."""

    steps: int
    at: float


class StreamSteps:
    """Counts the steps of the present stream: messages after Hello, and the reports of event batches.

    To be called under the cluster's lock. ``wall`` returns seconds since the epoch.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._steps = 0
        self._recorded = False

    def restart(self, *, recorded: bool) -> None:
        """Begin to count another stream; ``recorded``: its driver wants to know what rounds were decided on."""
        self._steps, self._recorded = 0, recorded

    def count_step(self) -> None:
        """Count a step that has been applied."""
        self._steps += 1

    def begin_round(self) -> RoundBeginning | None:
        """Return where the stream is as a round begins; None if nobody wants to know."""
        return RoundBeginning(self._steps, self._wall()) if self._recorded else None

    def end_round(self, result: RoundResult, begun: RoundBeginning | None, *, direct: bool) -> RoundResult:
        """Return a round's result with what it was decided on."""
        if begun is None:
            return result
        decided = DecidedOn(begun.steps, self._steps, begun.at, self._wall(), direct)
        return replace(result, decided=decided)
