"""Questions to clusters: how many at a time, and lists of what there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

THREADS = 4
"""Few: each of them may hold the lock of its cluster while a session wants it."""


class TooManyQuestionsError(Exception):
    """So many questions are under way that no further one is taken; the text says what to do."""


class QuestionPool:
    """At most ``most`` questions at a time, of which some wait. For the event loop's thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0
        self._threads = ThreadPoolExecutor(THREADS, "questions")

    async def ask(self, question: Callable[[], T]) -> T:
        """Return what ``question`` returns, or raise what it raises; raises ``TooManyQuestionsError``.

        Cancelled, it leaves the question to be answered to nobody, and it counts until then.
        """
        if self._open >= self._most:
            raise TooManyQuestionsError(
                f"{self._open} questions are under way, as many as limits.questions allows; ask again later"
            )
        answer = asyncio.wrap_future(self._threads.submit(question))
        self._open += 1
        answer.add_done_callback(self._answered)
        return await asyncio.shield(answer)

    def close(self) -> None:
        """Answer no more; those under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _answered(self, _: object) -> None:
        self._open -= 1


# --- What is told of a cluster as a whole.


if TYPE_CHECKING:
    from firmament.core.results import MachineState, TaskState


@dataclass(frozen=True, slots=True)
class Listing:
    """What ``ListState`` shows; the lists are empty unless asked for."""

    machines: int
    pending: int
    assumed: int
    bound: int
    rounds: int
    tasks: Sequence[TaskState] = ()
    machine_states: Sequence[MachineState] = ()
