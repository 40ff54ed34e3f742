"""When a round may begin once there is work: as soon as nothing more seems to be on its way, at the latest after the
batching window."""

from __future__ import annotations

QUIET_SECONDS = 0.001
"""Silence on the stream after which a burst counts as complete; between messages that are ready to be sent it is
shorter."""

PACE = 8
"""While the driver has plenty to do, a round begins so many times the last round's seconds after that one began."""

LONGEST_PACE_SECONDS = 0.5
"""But no later: what arrives may also concern tasks that no binding is in the way of."""


LONE_SECONDS = 0.005
"""Silence before a small message after which it is taken for one that comes alone, and its round begins at once."""

WORTH_WAITING = 3
"""In a stream of arrivals a round waits for so many times the last round's seconds, at most for the window: where a
round takes a millisecond, nobody gains by waiting for twenty."""


class BatchingWindow:
    """Follows the messages of one stream and says how long a round should still wait for more of them.

    A burst is messages with hardly a pause between them. Once it is over, a round need not wait: its sender has
    said what there was to say. A small message that comes out of silence is not waited upon at all: if it begins a
    burst, what follows is gathered while its round runs. If a message came less than a window after other events it is
    taken for part of a stream of arrivals, whose next part is worth waiting for: then the whole window passes, from the
    change that brought work, so that rounds are no more frequent than that. Where rounds are short the window is as
    well (``WORTH_WAITING``): what comes less often than that is not waited for. All times are seconds on one monotonic
    clock of the caller's.
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

    def look(self) -> None:
        """Note that a worker is about to look for work: all changes so far are part of it."""
        self._since, self._noted = self._noted, None

    def restart(self, now: float) -> None:
        """Note that a round begins: what happens from here on is for the next one."""
        self._noted = None
        self._round_began = now

    def note_end(self, now: float) -> None:
        """Note that the round has ended."""
        self._round_seconds = now - self._round_began

    def forget_arrivals(self) -> None:
        """Note that a snapshot is complete; its events say nothing about the pace of later ones."""
        self._last_events = None
        self._streaming = self._comes_alone = False

    def reading(self, now: float) -> None:
        """Note that a message has arrived, which will take a while to apply."""
        self._reading = True
        self._read_at = now

    def read(self, now: float, *, events: bool, small: bool = False) -> None:
        """Note that the message has been applied; ``events``: it was a batch of them, ``small``: of a few."""
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
        """Note that something happened that may have created work."""
        if self._noted is None:
            self._noted = now

    def compute_wait(self, now: float) -> float:
        """Return seconds until the round should begin if nothing else happens; 0 for now, also if nothing had
        changed.
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
        """Return seconds that a round waits for more of a stream."""
        if self._round_seconds is None:
            return self._seconds
        return min(self._seconds, WORTH_WAITING * self._round_seconds)

    def spare(self, now: float) -> float:
        """Return seconds by which a round that is due may be put off if the driver is busy with earlier ones
        for longer.

        Each round has fixed costs, and decides about more tasks the later it begins. What it placed would only queue
        behind what has been placed already.
        """
        pace = min(PACE * (self._round_seconds or 0.0), LONGEST_PACE_SECONDS)
        return max(0.0, self._round_began + pace - now)
