"""Writes that may wait: one per key at a time, only the latest of a key, and after more urgent work.

Events and conditions inform people and autoscalers; bindings start pods. On a busy API server the former must
not cost the latter anything, so workers let urgent work go first, but not for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Generic, TypeVar

from poseidon.kube.errors import ApiError, KubeError
from poseidon.kube.retrying import RetryOptions, Tries

if TYPE_CHECKING:
    from poseidon.kube.metrics import KubeMetrics

W = TypeVar("W")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WriteBehindOptions(RetryOptions):
    """Limits of a queue.

    ``bound`` is how many writes may wait (more are dropped and counted), ``patience`` how many seconds a
    write lets urgent work go first.
    """

    workers: int = 8
    bound: int = 200_000
    patience: float = 0.5
    backoff_initial: float = 0.2


class WriteBehind(Generic[W]):
    """A bounded queue of writes of one ``kind``, by key.

    ``perform`` carries out one write and raises ``KubeError``; ``wait_quiet`` returns once no urgent work is
    left. A write whose object is gone (404, or its namespace about to be) or has become another (409) is
    dropped silently; other refusals are logged once until a write succeeds again.
    """

    def __init__(
        self,
        kind: str,
        perform: Callable[[W], Awaitable[None]],
        wait_quiet: Callable[[], Awaitable[None]],
        *,
        metrics: KubeMetrics,
        random: Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        options: WriteBehindOptions | None = None,
    ) -> None:
        self._kind = kind
        self._perform = perform
        self._wait_quiet = wait_quiet
        self._metrics = metrics
        self._random = random
        self._sleep = sleep
        self._options = options or WriteBehindOptions()
        self._waiting: dict[Hashable, W] = {}
        self._active: set[Hashable] = set()
        self._ready: asyncio.Queue[Hashable] = asyncio.Queue()
        self._drained = asyncio.Event()
        self._drained.set()
        self._complained = False

    def submit(self, key: Hashable, write: W) -> None:
        """Queue a write; it replaces one with the same key that still waits."""
        if key in self._waiting:
            self._waiting[key] = write
            return
        if len(self._waiting) >= self._options.bound:
            self._count("dropped")
            return
        self._waiting[key] = write
        self._drained.clear()
        if key not in self._active:
            self._ready.put_nowait(key)

    def waiting(self, key: Hashable) -> W | None:
        """Return the write of a key that waits, if there is one."""
        return self._waiting.get(key)

    def withdraw(self, key: Hashable) -> None:
        """Forget the write of a key that still waits. One that is being written is not stopped."""
        self._waiting.pop(key, None)
        self._note_if_drained()

    async def wait_drained(self) -> None:
        """Wait until nothing waits or is being written."""
        await self._drained.wait()

    async def run(self) -> None:
        """Write for ever."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._options.workers):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._ready.get()
            if key not in self._waiting or key in self._active:
                # Withdrawn meanwhile; or withdrawn, submitted again and queued twice.
                continue
            self._active.add(key)
            try:
                await self._let_urgent_work_go_first()
                if key in self._waiting:
                    await self._write(self._waiting.pop(key))
            finally:
                self._active.discard(key)
                if key in self._waiting:
                    self._ready.put_nowait(key)
                self._note_if_drained()

    def _note_if_drained(self) -> None:
        if not self._waiting and not self._active:
            self._drained.set()

    async def _let_urgent_work_go_first(self) -> None:
        try:
            async with asyncio.timeout(self._options.patience):
                await self._wait_quiet()
        except TimeoutError:
            return

    async def _write(self, write: W) -> None:
        tries = Tries(self._options, self._random)
        while True:
            try:
                await self._perform(write)
            except KubeError as error:
                pause = tries.pause(error)
                if pause is None:
                    self._give_up(error)
                    return
                await self._sleep(pause)
            else:
                self._complained = False
                self._count("written")
                return

    def _give_up(self, error: KubeError) -> None:
        if isinstance(error, ApiError) and (error.not_found or error.conflict or error.terminating):
            self._count("obsolete")
            return
        self._count("failed")
        _log.log(
            logging.DEBUG if self._complained else logging.WARNING,
            'cannot be written kind=%s error="%s"',
            self._kind,
            error,
        )
        self._complained = True

    def _count(self, result: str) -> None:
        self._metrics.writes.labels(self._kind, result).inc()
