"""A process that does one job after another; it starts on demand, and ends if a job takes too long."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

T = TypeVar("T")

_NICE = 10
_END_SECONDS = 2.0


class JobError(Exception):
    """Raised if a job has failed; the text is for people."""


class BusyError(JobError):
    """Raised if too many jobs are waiting already."""


class Jobs(Protocol):
    """The interface of a worker that does jobs."""

    async def do(self, job: Callable[[], T], seconds: float, begun: Callable[[], None] = ...) -> T:
        """Return what a job returns, or raise ``JobError``, as ``Worker.do`` does."""
        ...


class Worker:
    """A process with low priority that does one job at a time; at most ``most_waiting`` other jobs wait."""

    def __init__(self, most_waiting: int = 8) -> None:
        self._most = most_waiting
        self._waiting = 0
        self._turn = asyncio.Lock()
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    async def do(self, job: Callable[[], T], seconds: float, begun: Callable[[], None] = lambda: None) -> T:
        """Do a job and return its result; job and result must be picklable. ``begun`` is called when the job begins.

        Raises ``JobError`` if the job fails, or takes longer than ``seconds``.
        """
        if self._waiting > self._most:
            raise BusyError("too many jobs wait already; try again in a minute")
        self._waiting += 1
        try:
            async with self._turn:
                begun()
                return await self._run_job(job, seconds)
        finally:
            self._waiting -= 1

    async def _run_job(self, job: Callable[[], T], seconds: float) -> T:
        exchange = asyncio.create_task(asyncio.to_thread(self._exchange, job, seconds))
        try:
            succeeded, result = await asyncio.shield(exchange)
        except asyncio.CancelledError:
            self._kill()
            with suppress(JobError):
                await exchange
            raise
        if not succeeded:
            raise JobError(str(result))
        return result

    def _exchange(self, job: Callable[[], Any], seconds: float) -> tuple[bool, Any]:
        """Send a job to the process and wait for the answer; this runs in a thread."""
        connection = self._start()
        try:
            connection.send(job)
            if not connection.poll(seconds):
                self._kill()
                raise JobError(f"the job took more than {seconds:.0f} s, and was stopped")
            answer: tuple[bool, Any] = connection.recv()
        except (EOFError, OSError):
            self._kill()
            raise JobError("the process that did the job has ended") from None
        return answer

    def _start(self) -> Connection:
        if self._process is not None and self._process.is_alive() and self._connection is not None:
            return self._connection
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_run_jobs_until_closed, args=(theirs,), name="poseidon ui: work", daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection = ours
        return ours

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(_END_SECONDS)
        self._process = None

    async def close(self) -> None:
        """End the worker process."""
        await asyncio.to_thread(self._kill)


def _run_jobs_until_closed(connection: Connection) -> None:
    """Do the jobs that arrive by ``connection`` until the process that sends them has ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    with suppress(OSError):
        os.nice(_NICE)
    while True:
        try:
            job = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = True, job()
        except Exception as error:  # noqa: BLE001 - any failure is answered, and the next job may succeed
            answer = False, str(error) or type(error).__name__
        try:
            connection.send(answer)
        except OSError:
            return
