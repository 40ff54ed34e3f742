"""Queues write requests: workers send them, try again after failures, and let urgent requests go first.

Events and conditions inform people and autoscalers; bindings start pods. On a busy API server, events and conditions
must not slow bindings. Such writes therefore wait while bindings are under way, but not for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from random import Random
from typing import Generic, NamedTuple, TypeVar

from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.environment import Environment

T = TypeVar("T")
W = TypeVar("W")

_log = logging.getLogger(__name__)
_RESULTS = ("written", "obsolete", "failed", "dropped")


@dataclass(frozen=True, slots=True)
class RetryOptions:
    """How often a request is sent (``attempts``), and the first and longest pause between tries, in seconds.

    For ``throttled_seconds``, answers of a server that is too busy (429) do not count as attempts.
    """

    attempts: int = 5
    throttled_seconds: float = 30.0
    backoff_initial: float = 0.1
    backoff_cap: float = 5.0


class Tries:
    """The tries of one request, the first of which began at ``since`` (None: now).

    ``random`` draws jitter, ``clock`` is monotonic. Without a clock, answers of a busy server count as attempts from
    the beginning.
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
        """Count a try that failed with ``error``; return the seconds to wait before the next try, None to give up.

        ``may_help`` says whether another try may succeed; None: the kind of error decides. The pause is at least as
        long as the server asks for.
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
        """Send a request until it succeeds; raise the ``KubeError`` of the last try.

        ``may_help`` means the same as in ``pause``.
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
    """Return whether a request should be tried again: another write was made in between, or the error is transient."""
    return True if error.outrun else None


class WorkerPool(Generic[W]):
    """A queue that carries out requests, oldest first, until cancelled.

    ``perform`` carries out one request; an exception in it ends the pool. ``limit`` returns how many requests may be in
    flight, and is called again after each request. Waiting requests are entries of a queue, not asyncio tasks.
    """

    def __init__(self, perform: Callable[[W], Awaitable[None]], limit: Callable[[], int]) -> None:
        self._perform = perform
        self._limit = limit
        self._waiting: deque[W] = deque()
        self._workers = 0
        self._in_flight = 0
        self._wanted = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def unfinished(self) -> int:
        """Number of requests that wait or are in flight."""
        return len(self._waiting) + self._in_flight

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return len(self._waiting)

    def submit(self, request: W) -> None:
        """Queue a request."""
        self._waiting.append(request)
        self._idle.clear()
        self._wanted.set()

    def discard_waiting(self) -> int:
        """Drop the waiting requests; return how many were dropped."""
        count = len(self._waiting)
        self._waiting.clear()
        self._note_if_idle()
        return count

    async def wait_idle(self) -> None:
        """Wait until no request waits or is in flight."""
        await self._idle.wait()

    async def run(self) -> None:
        """Carry out queued requests until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                for _ in range(min(len(self._waiting), self._limit() - self._workers)):
                    self._workers += 1
                    group.create_task(self._work())

    async def _work(self) -> None:
        while self._waiting and self._workers <= self._limit():
            request = self._waiting.popleft()
            self._in_flight += 1
            await self._perform(request)
            self._in_flight -= 1
            self._note_if_idle()
            if self._waiting and self._workers < self._limit():
                self._wanted.set()
        self._workers -= 1

    def _note_if_idle(self) -> None:
        if not self._waiting and not self._in_flight:
            self._idle.set()


@dataclass(frozen=True, slots=True)
class WriteBehindOptions(RetryOptions):
    """Limits of a queue of writes.

    At most ``bound`` writes may wait; any more writes are dropped and counted. For ``patience`` seconds after its
    submission, a write lets urgent work go first; most bursts are shorter. At most ``workers`` writes are in flight,
    about as many as bindings: in a longer burst, late writes then get half of the server's capacity. ``late`` limits
    how many writes are in flight during urgent work after their ``patience`` is over; None: ``workers``.
    """

    workers: int = 128
    late: int | None = None
    bound: int = 200_000
    patience: float = 20.0
    backoff_initial: float = 0.2


class _Waiting(NamedTuple, Generic[W]):
    """A waiting write; from ``until`` (the event loop's time) on, it is sent even while urgent work waits."""

    write: W
    until: float


class WriteBehind(Generic[W]):
    """A bounded queue of writes of one ``kind``, by key.

    ``perform`` carries out one write. ``perform`` raises ``KubeError``, or another exception for an impossible write,
    which is then dropped. ``wait_quiet`` returns once no urgent work is left. A write is dropped silently if its
    object does not exist (404), its namespace is being deleted, another object has its name, or the object to create
    exists already (409). Of other refusals, only the first is logged until a write succeeds again.
    """

    def __init__(
        self,
        kind: str,
        perform: Callable[[W], Awaitable[None]],
        environment: Environment,
        wait_quiet: Callable[[], Awaitable[None]],
        options: WriteBehindOptions | None = None,
    ) -> None:
        self._kind = kind
        self._perform = perform
        self._wait_quiet = wait_quiet
        metrics = environment.metrics
        # The series is looked up once, because finding it by its labels takes longer than counting in it.
        self._counts = {result: metrics.writes.status_writes.labels(kind, result) for result in _RESULTS}
        self._random = environment.random
        self._sleep = environment.sleep
        self._options = options or WriteBehindOptions()
        self._waiting: dict[Hashable, _Waiting[W]] = {}
        metrics.writes.status_writes_waiting.labels(kind).set_function(lambda: len(self._waiting))
        self._active: set[Hashable] = set()
        late = self._options.late
        self._late = asyncio.Semaphore(late) if late is not None else None
        workers = self._options.workers
        self._ready: WorkerPool[Hashable] = WorkerPool(self._carry_out, lambda: workers)
        self._drained = asyncio.Event()
        self._drained.set()
        self._complained = False

    def put(self, key: Hashable, write: W) -> None:
        """Queue a write; it replaces a waiting write with the same key."""
        earlier = self._waiting.get(key)
        if earlier is not None:
            self._waiting[key] = _Waiting(write, earlier.until)
            return
        if len(self._waiting) >= self._options.bound:
            self._count("dropped")
            return
        self._waiting[key] = _Waiting(write, asyncio.get_running_loop().time() + self._options.patience)
        self._drained.clear()
        if key not in self._active:
            self._ready.submit(key)

    def waiting(self, key: Hashable) -> W | None:
        """Return the waiting write with this key, or None."""
        waiting = self._waiting.get(key)
        return waiting.write if waiting is not None else None

    def withdraw(self, key: Hashable) -> None:
        """Drop the waiting write with this key. A write in flight is not stopped."""
        self._waiting.pop(key, None)
        self._note_if_drained()

    async def wait_drained(self) -> None:
        """Wait until no write waits or is in flight."""
        await self._drained.wait()

    async def run(self) -> None:
        """Write until cancelled."""
        await self._ready.run()

    async def _carry_out(self, key: Hashable) -> None:
        waiting = self._waiting.get(key)
        if waiting is None or key in self._active:
            # The write was withdrawn meanwhile, or was withdrawn and submitted again, and so queued twice.
            return
        self._active.add(key)
        try:
            is_quiet = False
            # Late writes need not be counted if they have no limit of their own.
            if self._late is not None or asyncio.get_running_loop().time() < waiting.until:
                is_quiet = await self._is_quiet_by(waiting.until)
            async with nullcontext() if is_quiet or self._late is None else self._late:
                if key in self._waiting:  # if the write was not withdrawn meanwhile
                    await self._write(self._waiting.pop(key).write)
        finally:
            self._active.discard(key)
            if key in self._waiting:
                self._ready.submit(key)
            self._note_if_drained()

    def _note_if_drained(self) -> None:
        if not self._waiting and not self._active:
            self._drained.set()

    async def _is_quiet_by(self, until: float) -> bool:
        """Wait until no urgent work is left, or until a time; return whether none is left."""
        try:
            async with asyncio.timeout_at(until):
                await self._wait_quiet()
        except TimeoutError:
            return False
        return True

    async def _write(self, write: W) -> None:
        tries = Tries(self._options, self._random, asyncio.get_running_loop().time)
        try:
            await tries.persist(lambda: self._perform(write), self._sleep, outrun)
        except Exception as error:  # noqa: BLE001 - one write that cannot be made must not end the others
            self._give_up(error)
        else:
            self._complained = False
            self._count("written")

    def _give_up(self, error: Exception) -> None:
        if isinstance(error, ApiError) and (
            error.not_found or error.replaced or error.already_exists or error.terminating
        ):
            self._count("obsolete")
            return
        self._count("failed")
        _log.log(
            logging.DEBUG if self._complained else logging.WARNING,
            'cannot be written kind=%s error="%s"',
            self._kind,
            error if isinstance(error, KubeError) else repr(error),
        )
        self._complained = True

    def _count(self, result: str) -> None:
        self._counts[result].inc()
