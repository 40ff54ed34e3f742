"""Decides which request opens another connection, and which waits until a connection is free.

A handshake takes client and server as much processor time as several small requests. If the server is near, a few
connections are enough for all it can answer, and further ones would only slow the server. If the server is far away,
many connections are needed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

C = TypeVar("C")

FEW = 16
"""With fewer connections than this, a request that finds no idle connection opens one at once."""

AT_A_TIME = 8
"""Most connections that may be in the process of opening at the same time."""

PATIENCE_SECONDS = 0.25
"""Waiting requests open connections, a few at a time, after this many seconds (up to twice as many) without an answer.
"""

_BUSY = 4.0
"""A server counts as busy if its answers take this many times as long as its quickest answers."""
_NEW_SHARE = 0.25
"""Weight of the latest answer in the moving average of answer times."""
_FORGET = 1.001
"""With each answer, the remembered time of the quickest answer grows by this factor."""


class Openings(Generic[C]):
    """The decision which request opens a connection, by how long answers take. All calls come from one event loop.

    ``count_open`` returns how many connections are open, in use or idle. ``give_back`` takes a connection back that
    was handed to a cancelled request. The call of ``begin`` (or of ``wait``, if that returns None) starts an opening;
    the caller calls ``end`` when the opening has succeeded or failed.
    """

    def __init__(self, count_open: Callable[[], int], give_back: Callable[[C], None]) -> None:
        self._count_open, self._give_back = count_open, give_back
        self._opening = 0
        self._urgent: deque[asyncio.Future[C | None]] = deque()
        self._others: deque[asyncio.Future[C | None]] = deque()
        self._quickest = self._recent = 0.0
        self._answers = 0
        self._timer: asyncio.TimerHandle | None = None

    def note_answer(self, seconds: float) -> None:
        """Note the seconds that an answer took."""
        self._answers += 1
        if not self._quickest:
            self._quickest = self._recent = seconds
        # Only the quickest answer is remembered, and it is forgotten slowly, as the connection may have become slower
        # for good.
        self._quickest = min(seconds, self._quickest * _FORGET)
        self._recent += _NEW_SHARE * (seconds - self._recent)

    def begin(self) -> bool:
        """Return whether a request may open a connection now; if so, count the connection as being opened."""
        if not self._may_open():
            return False
        self._opening += 1
        return True

    async def wait(self, *, urgent: bool = False) -> C | None:
        """Wait for a connection that another request returns.

        The result None means that the caller must open a connection, which is counted already.

        Waiting requests get connections in this order: ``urgent`` ones first, then those that have waited longest.
        Raises ``ConnectionResetError`` if all connections are closed meanwhile.
        """
        turn: asyncio.Future[C | None] = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(turn)
        self._watch()
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:
                # The request got a connection at the moment when it was cancelled, and returns it.
                self._return_turn(turn.result())
            raise

    def _return_turn(self, connection: C | None) -> None:
        if connection is None:
            self.end()
        else:
            self._give_back(connection)

    def _watch(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(PATIENCE_SECONDS, self._end_patience, self._answers)

    def _end_patience(self, answers: int) -> None:
        """Let waiting requests open connections if no answer has come since ``answers`` were counted."""
        # A timer for every request would cost as much as sending the request.
        self._timer = None
        while self._answers == answers and self._opening < AT_A_TIME and (turn := self._pop()) is not None:
            self._grant(turn)
        if self._urgent or self._others:
            self._watch()

    def _pop(self) -> asyncio.Future[C | None] | None:
        """Remove the next request that still waits from the queue, and return it; None if no request waits."""
        while self._urgent or self._others:
            turn = (self._urgent or self._others).popleft()
            if not turn.done():
                return turn
        return None

    def _grant(self, turn: asyncio.Future[C | None]) -> None:
        self._opening += 1
        turn.set_result(None)

    def end(self) -> None:
        """Note that opening a connection has succeeded or failed; a waiting request may open the next one."""
        self._opening -= 1
        self.let_open()

    def let_open(self) -> None:
        """Let waiting requests open connections, as many as may be opened now."""
        while self._may_open() and (turn := self._pop()) is not None:
            self._grant(turn)

    def hand_over(self, connection: C) -> bool:
        """Give a free connection to the next waiting request; return False if none waits."""
        turn = self._pop()
        if turn is not None:
            turn.set_result(connection)
        return turn is not None

    def close(self) -> None:
        """Let all waiting requests fail."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while (turn := self._pop()) is not None:
            turn.set_exception(ConnectionResetError("the connections were closed"))

    def _may_open(self) -> bool:
        if self._opening >= AT_A_TIME:
            return False
        if self._count_open() + self._opening < FEW:
            return True
        return 0 < self._recent < _BUSY * self._quickest
