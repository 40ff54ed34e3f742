"""Answers questions in a few threads, and refuses further ones while too many wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

THREADS = 4
"""Number of threads that answer questions; there are few, because each may hold the lock of a cluster while a session
needs it."""


class TooManyQuestionsError(Exception):
    """The limit of questions under way is reached; the text of the error says what to do."""


class QuestionPool:
    """Answers questions in threads, at most ``most`` at a time, including questions that wait for a thread.

    Only the event loop may use the pool.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0
        self._threads = ThreadPoolExecutor(THREADS, "questions")

    async def ask(self, question: Callable[[], T]) -> T:
        """Call ``question`` in a thread and return its result.

        Raise the error of ``question``, or ``TooManyQuestionsError``. If the caller is cancelled, the question still
        runs, and counts until it has ended.
        """
        if self._open >= self._most:
            raise TooManyQuestionsError(
                f"{self._open} questions are under way, as many as limits.questions allows; ask again later"
            )
        answer = asyncio.wrap_future(self._threads.submit(question))
        self._open += 1
        answer.add_done_callback(self._note_answered)
        return await asyncio.shield(answer)

    def close(self) -> None:
        """Accept no more questions; questions under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _note_answered(self, _: object) -> None:
        self._open -= 1
