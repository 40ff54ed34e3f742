"""How often a request is made again, and after which pause."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import ApiError, KubeError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """``attempts`` is how often a request is made at most; pauses grow from the first back-off (seconds) to the cap.

    Answers of a server that is too busy (429) are not counted as attempts for ``throttled_seconds``.
    """

    attempts: int = 5
    throttled_seconds: float = 30.0
    backoff_initial: float = 0.1
    backoff_cap: float = 5.0


class Tries:
    """The tries of one request, which began ``since`` (None: now). ``random`` draws jitter, ``clock`` is monotonic.

    Without a clock answers of a busy server are counted from the first.
    """

    def __init__(
        self,
        options: RetryOptions,
        random: Random,
        clock: Callable[[], float] | None = None,
        *,
        since: float | None = None,
    ) -> None:
        self._left = options.attempts
        self._backoff = Backoff(random, options.backoff_initial, options.backoff_cap)
        self._clock = clock
        begun = since if since is not None else clock() if clock is not None else 0.0
        self._patient_until = begun + options.throttled_seconds

    def pause(self, error: KubeError, *, may_help: bool | None = None) -> float | None:
        """Count a try that ended with ``error``; return the seconds to wait before the next, None if none is due.

        ``may_help`` says whether another try may end otherwise; by default the kind of the error does. The pause is
        at least what the server asks for.
        """
        answer = error if isinstance(error, ApiError) else None
        patient = self._clock is not None and self._clock() < self._patient_until
        if answer is None or not answer.throttled or not patient:
            self._left -= 1
        if may_help is None:
            may_help = answer is None or answer.transient
        if not may_help or self._left <= 0:
            return None
        at_least = answer.retry_after or 0.0 if answer is not None else 0.0
        return max(self._backoff.next(), at_least)

    async def persist(
        self,
        attempt: Callable[[], Awaitable[T]],
        sleep: Callable[[float], Awaitable[None]],
        may_help: Callable[[ApiError], bool | None] = lambda _: None,
    ) -> T:
        """Make a request until it succeeds; raises the ``KubeError`` after which no other try is due.

        ``may_help`` decides about a refusal as ``pause`` has it.
        """
        while True:
            try:
                return await attempt()
            except KubeError as error:
                helps = may_help(error) if isinstance(error, ApiError) else None
                pause = self.pause(error, may_help=helps)
                if pause is None:
                    raise
            await sleep(pause)


def outrun(error: ApiError) -> bool | None:
    """Let a request be made again that another write came in between of; all others as their kind has it."""
    return True if error.outrun else None
