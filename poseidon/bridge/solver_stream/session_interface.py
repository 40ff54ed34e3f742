"""The interface of the state that a session sends from and reports to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from protos.firmament.v1 import scheduler_pb2 as pb


class DistrustedError(Exception):
    """The solver asked for too many suspicious things, so the bridge closes the stream and waits before it
    opens another.
    """


class Peer(Protocol):
    """The methods that a session calls on its side's state; all from the event loop's thread."""

    def snapshot(self) -> Iterable[pb.Event]:
        """Return the whole state, for a solver that knows nothing; later events are changes of it."""

    def take_events(self) -> Iterable[pb.Event]:
        """Return the changes since the last call. The caller iterates at once, before anything else changes."""

    def take_reports(self) -> Sequence[pb.BindingReport]:
        """Return the outcomes of deltas since the last call."""

    def note_refused(self, event: pb.Event, reason: str) -> None:
        """Note that the solver has refused an event, which would end the next stream as it ended this one."""

    def has_plenty_to_do(self) -> bool:
        """Return whether the placements so far keep the peer busy for a while, so that the next round may wait."""

    async def on_round(self, result: pb.RoundResult) -> None:
        """Carry out the result of a round. The next one is read when this returns; cancelled if the stream is
        lost.

        Raises ``DistrustedError`` to leave the solver alone for a while.
        """
