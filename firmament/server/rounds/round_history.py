"""Keeps the last rounds of a cluster for questions: the figures of each round, and snapshot and flow of the last one.

A flow is described from the snapshot of its round, but only when somebody asks for it. Small snapshots are always
kept until the next round. Large ones are kept only while questions come, because they take more memory than
everything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from firmament.core.results import DeltaKind, RoundResult
from firmament.core.round_flow.assembly import RoundSummary
from firmament.saved_rounds.saving import RoundRecord

MOST_ROUNDS = 200

SMALL = 1_000_000
"""Largest number of pairs of shape and machine for which a snapshot is always kept: about 10 MB."""

INTEREST_SECONDS = 60.0
"""Seconds after a question for which large snapshots are kept for the next question."""


class RoundHistory:
    """The last rounds of a cluster. The caller must hold the cluster's lock for every call.

    ``clock``: returns seconds since the epoch. ``timer``: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float]) -> None:
        self._clock, self._timer = clock, timer
        self._rounds: deque[RoundSummary] = deque(maxlen=MOST_ROUNDS)
        self._last: tuple[RoundSummary, RoundRecord] | None = None
        self._asked = -INTEREST_SECONDS

    def is_watched(self) -> bool:
        """Return whether somebody has recently asked for a flow; the history keeps large snapshots only then."""
        return self._timer() - self._asked < INTEREST_SECONDS

    def add_figures(self, result: RoundResult) -> RoundSummary:
        """Add the figures of a round, and return them; the last recorded flow remains."""
        summary = RoundSummary(result.round, self._clock(), result.stats, _evictions(result))
        self._rounds.append(summary)
        return summary

    def add(self, record: RoundRecord) -> None:
        """Add a round with its snapshot and flow."""
        summary = self.add_figures(record.result)
        problem = record.snapshot.problem
        small = problem.machines * len(problem.requests) <= SMALL
        if small or self.is_watched():
            self._last = (summary, record)
        else:
            self._last = None

    def clear(self) -> None:
        """Forget the last flow, because the cluster's state has been replaced."""
        self._last = None

    def list_after(self, number: int) -> list[RoundSummary]:
        """Return the figures of the rounds whose number is above ``number``, in order."""
        return [each for each in self._rounds if each.round > number]

    def last(self, after: int) -> tuple[RoundSummary, RoundRecord] | None:
        """Return the last round with a snapshot if its number is above ``after``, else None.

        Note that somebody has asked.
        """
        self._asked = self._timer()
        return self._last if self._last is not None and self._last[0].round > after else None


def _evictions(result: RoundResult) -> int:
    # Large rounds have nothing but placements, of which there may be a hundred thousand.
    if len(result.deltas) == result.stats.placed:
        return 0
    return sum(each.kind is DeltaKind.PREEMPT and not each.withdrawn for each in result.deltas)
