"""The last rounds of a cluster, for those who look: figures of all, and of the last one what its flow came to.

A flow is described from the snapshot that its round was solved on, when somebody asks. Small snapshots are kept from
round to round; large ones only as long as questions come, because they take more memory than all the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from firmament.artefacts.saving import RoundRecord
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.round_flow.assembly import RoundSummary

MOST_ROUNDS = 200

SMALL = 1_000_000
"""Pairs of shapes and machines of a snapshot that is kept whether or not anybody asks: some 10 MB."""

INTEREST_SECONDS = 60.0
"""How long after a question large snapshots are kept for the next one."""


class RoundHistory:
    """What has become of a cluster's rounds; under the cluster's lock.

    ``clock``: seconds since the epoch; ``timer``: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float]) -> None:
        self._clock, self._timer = clock, timer
        self._rounds: deque[RoundSummary] = deque(maxlen=MOST_ROUNDS)
        self._last: tuple[RoundSummary, RoundRecord] | None = None
        self._asked = -INTEREST_SECONDS

    def is_watched(self) -> bool:
        """Return whether somebody has lately asked for a flow; only then do rounds record theirs."""
        return self._timer() - self._asked < INTEREST_SECONDS

    def add_figures(self, result: RoundResult) -> RoundSummary:
        """Add a round that placed its tasks without a flow; the last recorded flow stays."""
        summary = RoundSummary(result.round, self._clock(), result.stats, _evictions(result))
        self._rounds.append(summary)
        return summary

    def add(self, record: RoundRecord) -> None:
        """Take note of a round that had tasks, and of its flow."""
        summary = self.add_figures(record.result)
        problem = record.snapshot.problem
        small = problem.machines * len(problem.requests) <= SMALL
        if small or self.is_watched():
            self._last = (summary, record)
        else:
            self._last = None

    def clear(self) -> None:
        """Forget the last flow: its state is no longer the cluster's."""
        self._last = None

    def list_after(self, number: int) -> list[RoundSummary]:
        """Return rounds with larger numbers, in order."""
        return [each for each in self._rounds if each.round > number]

    def last(self, after: int) -> tuple[RoundSummary, RoundRecord] | None:
        """Return the last round with a snapshot, if its number is larger. From now on somebody looks."""
        self._asked = self._timer()
        return self._last if self._last is not None and self._last[0].round > after else None


def _evictions(result: RoundResult) -> int:
    if len(result.deltas) == result.stats.placed:  # nothing but placements, which may be a hundred thousand
        return 0
    return sum(each.kind is DeltaKind.PREEMPT and not each.withdrawn for each in result.deltas)
