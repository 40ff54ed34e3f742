"""Defines what a cluster calls on its driver, and the errors by which a cluster refuses what a driver sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from firmament.wire.rounds import EncodedRound


class StaleDriverError(Exception):
    """A driver has an older fencing number than the current driver, and must not act while that driver is connected."""


class SupersededError(Exception):
    """A driver lost the cluster because another driver has taken it over."""


class OrderError(Exception):
    """A message is not allowed at this point of the stream; the text says which and why."""


class StateLostError(Exception):
    """A round failed while it took effect, so the state is no longer reliable, and a new snapshot is needed."""


class NoStateError(Exception):
    """The cluster has no state yet, or its new snapshot is not complete."""


class Driver(Protocol):
    """The methods that a cluster calls on its driver: the session that sends its events, mostly a bridge's."""

    def supersede(self, by_fencing: int) -> None:
        """End the session, because another driver has taken over."""
        ...

    def deliver(self, result: EncodedRound) -> None:
        """Send the result of a round for which another client asked."""
        ...
