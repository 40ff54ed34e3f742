"""Defines the methods that a session calls on the bridge's state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from protos.firmament.v1 import scheduler_pb2 as pb


class DistrustedError(Exception):
    """The solver made too many suspicious requests, so the bridge pauses before it opens another stream."""


class Peer(Protocol):
    """The methods that a session calls on the bridge's state, all from the event loop's thread."""

    def snapshot(self) -> Iterable[pb.Event]:
        """Return the whole state, for a solver without any state; later events are changes of this state."""

    def take_events(self) -> Iterable[pb.Event]:
        """Return the changes since the last call. The caller iterates at once, before anything else changes."""

    def take_reports(self) -> Sequence[pb.BindingReport]:
        """Return the outcomes of the solver's deltas since the last call."""

    def note_refused(self, event: pb.Event, reason: str) -> None:
        """Note that the solver has refused an event and ended the stream. Later streams must not contain that event."""

    def has_plenty_to_do(self) -> bool:
        """Return whether the placements so far keep the peer busy for a while, so that the next round may wait."""

    async def on_round(self, result: pb.RoundResult) -> None:
        """Carry out the result of a round. The session reads the next result when this returns.

        The call is cancelled if the stream is lost. The method raises ``DistrustedError`` to pause before the next
        stream.
        """
