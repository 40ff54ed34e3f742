"""Writes that may wait: one per key at a time, only the latest of a key, and after more urgent work.

Events and conditions inform people and autoscalers; bindings start pods. On a busy API server the former must
not cost the latter anything, so workers let urgent work go first, but not for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.write.retrying import RetryOptions, Tries, outrun
from poseidon.kube.write.worker_pool import WorkerPool

if TYPE_CHECKING:
    from poseidon.kube.environment import Environment

W = TypeVar("W")

_log = logging.getLogger(__name__)
_RESULTS = ("written", "obsolete", "failed", "dropped")


@dataclass(frozen=True, slots=True)
class WriteBehindOptions(RetryOptions):
    """Limits of a queue.

    ``bound`` is how many writes may wait (more are dropped and counted). ``patience`` is how many seconds after its
    submission a write lets urgent work go first: longer than most bursts last. ``workers`` is how many writes are in
    flight at most. They are as many as bindings usually are, so that in a burst that outlasts patience late writes
    get a share which keeps them from falling behind for good: with half of what the server can take, they come twice
    as late as that at most. ``late`` is how many of those that have been patient enough are in flight at most while
    urgent work goes on, for writes whose patience is short; None: no fewer than ``workers``.
    """

    workers: int = 128
    late: int | None = None
    bound: int = 200_000
    patience: float = 20.0
    backoff_initial: float = 0.2


class _Waiting(NamedTuple, Generic[W]):
    """A write that waits; by ``until`` (the event loop's time) it has let urgent work go first long enough."""

    write: W
    until: float


class WriteBehind(Generic[W]):
    """A bounded queue of writes of one ``kind``, by key.

    ``perform`` carries out one write and raises ``KubeError``, or anything else for one that cannot be made, which is
    dropped then; ``wait_quiet`` returns once no urgent work is left. A write whose object is gone (404, or its
    namespace about to be), has become another or is there already (409) is dropped silently; other refusals are logged
    once until a write succeeds again.
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
        # Looked up once: finding a series by its labels takes longer than counting in it.
        self._counts = {result: metrics.writes.labels(kind, result) for result in _RESULTS}
        self._random = environment.random
        self._sleep = environment.sleep
        self._options = options or WriteBehindOptions()
        self._waiting: dict[Hashable, _Waiting[W]] = {}
        metrics.writes_waiting.labels(kind).set_function(lambda: len(self._waiting))
        self._active: set[Hashable] = set()
        late = self._options.late
        self._late = asyncio.Semaphore(late) if late is not None else None
        workers = self._options.workers
        self._ready: WorkerPool[Hashable] = WorkerPool(self._carry_out, lambda: workers)
        self._drained = asyncio.Event()
        self._drained.set()
        self._complained = False

    def put(self, key: Hashable, write: W) -> None:
        """Queue a write; it takes the place of one with the same key that still waits."""
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
        """Return the write of a key that waits, if there is one."""
        waiting = self._waiting.get(key)
        return waiting.write if waiting is not None else None

    def withdraw(self, key: Hashable) -> None:
        """Forget the write of a key that still waits. One that is being written is not stopped."""
        self._waiting.pop(key, None)
        self._note_if_drained()

    async def wait_drained(self) -> None:
        """Wait until nothing waits or is being written."""
        await self._drained.wait()

    async def run(self) -> None:
        """Write for ever."""
        await self._ready.run()

    async def _carry_out(self, key: Hashable) -> None:
        waiting = self._waiting.get(key)
        if waiting is None or key in self._active:
            # Withdrawn meanwhile; or withdrawn, submitted again and queued twice.
            return
        self._active.add(key)
        try:
            is_quiet = False
            # Where late writes are not limited, those that have waited long enough need not know.
            if self._late is not None or asyncio.get_running_loop().time() < waiting.until:
                is_quiet = await self._is_quiet_by(waiting.until)
            async with nullcontext() if is_quiet or self._late is None else self._late:
                if key in self._waiting:  # else withdrawn meanwhile
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
        """Wait until no urgent work is left, or until a time; returns whether none is. One that has passed: now."""
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
