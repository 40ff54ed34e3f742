"""Seconds since the epoch that neither stop nor jump while somebody counts on them."""

from __future__ import annotations

from collections.abc import Callable


class SteadyClock:
    """Tells what ``wall`` told when this was made, and the seconds since then by ``monotonic``.

    Waits, back-offs and time-outs are differences: were the system's clock turned back by an hour, a task whose binding
    had failed would wait that hour; were it turned forward, gangs would be given up that are just being bound.
    """

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._offset = wall() - monotonic()

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._offset + self._monotonic()
