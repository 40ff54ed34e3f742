"""Counts the messages (steps) of a driver's stream, so that a recording says after which step a round was decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from firmament.core.results import DecidedOn, RoundResult


class RoundBeginning(NamedTuple):
    """How many steps had been applied when a round began, and when it began, in seconds since the epoch."""

    steps: int
    at: float


class StreamSteps:
    """Counts the steps of the present stream: each message after Hello, and the reports within an event batch.

    Callers must hold the cluster's lock. ``wall``: returns seconds since the epoch.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._steps = 0
        self._recorded = False

    def restart(self, *, recorded: bool) -> None:
        """Begin counting for another stream.

        ``recorded``: whether results of rounds state the steps that they include.
        """
        self._steps, self._recorded = 0, recorded

    def count_step(self) -> None:
        """Count a step that has been applied."""
        self._steps += 1

    def begin_round(self) -> RoundBeginning | None:
        """Return the number of steps as a round begins; None if the stream is not recorded."""
        return RoundBeginning(self._steps, self._wall()) if self._recorded else None

    def end_round(self, result: RoundResult, begun: RoundBeginning | None, *, direct: bool) -> RoundResult:
        """Return a round's result with the steps on which it was decided."""
        if begun is None:
            return result
        decided = DecidedOn(begun.steps, self._steps, begun.at, self._wall(), direct)
        return replace(result, decided=decided)
