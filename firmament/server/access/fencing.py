"""Decides which driver may take over a cluster: the one that started last, by its fencing number."""

from __future__ import annotations

from collections.abc import Callable

GRACE_SECONDS = 10.0
"""Seconds for which a driver's number still counts after its stream broke, because the driver may be about to
reconnect."""

AHEAD_SECONDS = 3600.0
"""Numbers are start times in milliseconds; a number further ahead of the clock than this is not plausible."""


class Fencing:
    """Decides by fencing numbers which driver may take over. ``wall``, ``monotonic``: functions that return the time.

    ``number``: the fencing number of the attached driver; if none is attached, of the last one.

    The number protects the attached driver from an older driver that has not noticed its successor. If no driver is
    attached, no protection is needed: an outdated driver uses the same API server, which refuses a second binding.
    """

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self.number = 0
        self._lapses = float("-inf")

    def may_take_over(self, number: int) -> bool:
        """Return whether a driver with this number may take over.

        While a driver is attached, and for ``GRACE_SECONDS`` after its stream broke (not after a goodbye), only
        drivers with at least its number may take over. A number further ahead of the clock than ``AHEAD_SECONDS``
        counts as lower than all plausible ones.
        """
        if self._monotonic() >= self._lapses:
            return True
        latest = (self._wall() + AHEAD_SECONDS) * 1000
        return (number <= latest, number) >= (self.number <= latest, self.number)

    def attach(self, number: int) -> None:
        """Record that a driver with this number is attached."""
        self.number = number
        self._lapses = float("inf")

    def detach(self) -> None:
        """Record that the driver has left, perhaps because its stream broke."""
        self._lapses = self._monotonic() + GRACE_SECONDS

    def end_grace_period(self) -> None:
        """End the grace period, because the last driver will not come back."""
        self._lapses = float("-inf")
