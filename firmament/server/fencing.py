"""Who may take over as the driver of a cluster: the latest, as far as clocks can tell."""

from __future__ import annotations

from collections.abc import Callable

GRACE_SECONDS = 10.0
"""How long the number of a driver whose stream broke still counts: it is probably about to connect again."""

AHEAD_SECONDS = 3600.0
"""Numbers are times in milliseconds; one that lies further ahead than this is no start of a process."""


class Fencing:
    """The fencing number that a new driver has to reach; see ``may_take_over``. ``wall``, ``monotonic``: clocks.

    ``number``: of the driver that is attached, or was the last one.

    It protects the driver that is attached from an older one that has not noticed. Once none is attached there is
    nobody to protect: what a stale driver knows comes from the same API server, which refuses a second binding.
    """

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self.number = 0
        self._lapses = float("-inf")

    def may_take_over(self, number: int) -> bool:
        """Return whether a driver with this number may take over.

        While a driver is attached, and for ``GRACE_SECONDS`` after its stream broke (not after a goodbye), that is one
        whose number is not lower; one further ahead of the clock than ``AHEAD_SECONDS`` counts as lower than all that
        are not.
        """
        if self._monotonic() >= self._lapses:
            return True
        latest = (self._wall() + AHEAD_SECONDS) * 1000
        return (number <= latest, number) >= (self.number <= latest, self.number)

    def attach(self, number: int) -> None:
        """Note that a driver with this number drives."""
        self.number = number
        self._lapses = float("inf")

    def detach(self) -> None:
        """Note that it drives no more; its stream may have broken."""
        self._lapses = self._monotonic() + GRACE_SECONDS

    def lapse(self) -> None:
        """Note that it will not be back."""
        self._lapses = float("-inf")
