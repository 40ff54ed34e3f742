"""Decides how long a round waits for more work: until no more seems to come, at most for the batching window."""

from __future__ import annotations

QUIET_SECONDS = 0.001
"""Seconds without a message after which a burst counts as complete; messages that are ready to be sent come faster."""

PACE = 8
"""While the driver is busy, rounds begin at intervals of this many times the last round's seconds."""

LONGEST_PACE_SECONDS = 0.5
"""The longest interval between rounds while the driver is busy, in seconds: arriving tasks may be placeable before
the driver has finished its bindings."""


LONE_SECONDS = 0.005
"""If no message has come for this many seconds, a small message is assumed to be the only one, and its round begins
at once.
"""

WORTH_WAITING = 3
"""If messages arrive steadily, a round waits for this many times the last round's seconds, at most for the window.

A round that takes a millisecond gains nothing by waiting for twenty.
"""


class BatchingWindow:
    """Follows the messages of one stream, and computes how long a round should still wait for more messages.

    A burst is a sequence of messages with hardly a pause between them. When a burst is over, the round need not wait.
    After a small message that follows a silence, the round begins at once: if the message begins a burst, the other
    messages are collected while the round runs. A message that comes less than a window after other events is assumed
    to be part of a steady stream. Waiting for the next message of a steady stream is therefore worth it. In a steady
    stream, the round waits for a whole window from the change that brought work, so that rounds are no more frequent
    than that. If rounds are short, the window is short too (``WORTH_WAITING``). All times are seconds on one
    monotonic clock of the caller.
    """

    def __init__(self, seconds: float, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._seconds = seconds
        self._quiet = quiet_seconds
        self._noted: float | None = None
        self._since: float | None = None
        self._reading = False
        self._read_at = 0.0
        self._silent_since = 0.0
        self._last_events: float | None = None
        self._streaming = False
        self._comes_alone = False
        self._round_began = float("-inf")
        self._round_seconds: float | None = None

    def note_look(self) -> None:
        """Record that the caller checks now whether rounds have work: earlier changes need no further check."""
        self._since, self._noted = self._noted, None

    def restart(self, now: float) -> None:
        """Record that a round begins, so that later changes are for the next round."""
        self._noted = None
        self._round_began = now

    def note_end(self, now: float) -> None:
        """Record that the round has ended."""
        self._round_seconds = now - self._round_began

    def forget_arrivals(self) -> None:
        """Forget past arrivals, because a snapshot is complete: its events do not show how fast later events come."""
        self._last_events = None
        self._streaming = self._comes_alone = False

    def note_message_arrived(self, now: float) -> None:
        """Record that a message has arrived, and is being applied until ``note_message_applied`` is called."""
        self._reading = True
        self._read_at = now

    def note_message_applied(self, now: float, *, events: bool, small: bool = False) -> None:
        """Record that the message has been applied; ``events``: it was a batch of events; ``small``: of few."""
        if events:
            pause = None if self._last_events is None else self._read_at - self._last_events
            if pause is None or pause >= self._quiet:
                self._streaming = pause is not None and pause < self._worth_waiting()
            out_of_silence = pause is not None and pause >= LONE_SECONDS
            self._comes_alone = small and out_of_silence and not self._streaming
            self._last_events = now
        self._reading = False
        self._silent_since = now
        self.note_change(now)

    def note_change(self, now: float) -> None:
        """Record a change that may have created work."""
        if self._noted is None:
            self._noted = now

    def compute_wait(self, now: float) -> float:
        """Return how many seconds the next round should still wait if nothing else happens.

        Return 0 if the round need not wait, also if nothing has changed.
        """
        if self._since is None:
            return 0.0
        begin = self._since + self._seconds
        if not self._reading:
            if self._comes_alone:
                return 0.0
            quiet = self._silent_since + self._quiet
            if not self._streaming:
                begin = min(begin, quiet)
            else:
                begin = min(begin, max(quiet, self._since + self._worth_waiting()))
        return max(0.0, begin - now)

    def _worth_waiting(self) -> float:
        """Return the seconds for which a round waits for the next message of a steady stream."""
        if self._round_seconds is None:
            return self._seconds
        return min(self._seconds, WORTH_WAITING * self._round_seconds)

    def get_slack(self, now: float) -> float:
        """Return for how many seconds a round that is due may wait while the driver carries out earlier placements.

        Each round has fixed costs, and decides about more tasks the later it begins. The driver would carry out the
        placements of an earlier round only after those that it already has.
        """
        pace = min(PACE * (self._round_seconds or 0.0), LONGEST_PACE_SECONDS)
        return max(0.0, self._round_began + pace - now)
