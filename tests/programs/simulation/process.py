"""A process of the simulation: an asyncio event loop whose turns are events, and which can be killed at any of them.

Real code runs on it unchanged: timers go by simulated time, and what is handed to threads happens at a time of its own.
"""

from __future__ import annotations

import asyncio
import contextvars
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

from tests.programs.simulation.event_queue import EventQueue

_TURN = 0.0002
_THREAD = 0.0004
_ENDLESS = 20_000


class _Task(asyncio.Task):
    """A task whose place in sets does not depend on where it lies in memory."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], *, loop: Process, number: int, **more: Any
    ) -> None:
        self._number = number
        super().__init__(coroutine, loop=loop, **more)

    def __hash__(self) -> int:
        return self._number


_EventLoop: Any = asyncio.AbstractEventLoop
"""Of which only what the programs ask for is here."""


class Process(_EventLoop):  # type: ignore[misc]  # see there
    """An event loop on the ``queue``. ``failed`` is told of what nobody catches.

    It may stand still for a while, and its clock goes on.
    """

    def __init__(self, queue: EventQueue, name: str, failed: Callable[[str], None]) -> None:
        self.queue = queue
        self.name = name
        self.dead = False
        self.paused_until = 0.0
        self.turns = 0
        self._failed = failed
        self._ready: deque[asyncio.Handle] = deque()
        self._scheduled = False
        self._numbers = count()
        self._tasks: dict[int, _Task] = {}
        self.on_kill: list[Callable[[], None]] = []

    # --- the life of the process ---------------------------------------------------------------------------

    def kill(self) -> None:
        """End at once: nothing of it has any effect on others from here on."""
        if self.dead:
            return
        self.dead = True
        for cut in self.on_kill:
            cut()
        # Coroutines are unwound, so that none of them is found unfinished when it is collected; nobody hears of it.
        for _ in range(20):
            for task in list(self._tasks.values()):
                task.cancel()
            if not self._unwind():
                break
        self._ready.clear()
        self._tasks.clear()

    def stand_still(self, seconds: float) -> None:
        """Do nothing for a while."""
        self.paused_until = self.queue.now + seconds

    def go_on(self) -> None:
        """Stand still no longer."""
        self.paused_until = 0.0
        self.queue.at(self.queue.now, self._turn, counts=False)

    def _unwind(self) -> bool:
        for _ in range(_ENDLESS):
            if not self._ready:
                break
            self._run(len(self._ready))
        return bool(self._tasks)

    def _turn(self) -> None:
        self._scheduled = False
        if self.dead:
            return
        if self.queue.now < self.paused_until:
            self._schedule(self.paused_until - self.queue.now)
            return
        self.turns += 1
        self._run(len(self._ready))
        if self._ready and not self.dead:
            self._schedule(self._soon())

    def _run(self, most: int) -> None:
        former = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for _ in range(most):
                if not self._ready:
                    return
                handle = self._ready.popleft()
                if not handle._cancelled:
                    handle._run()
        finally:
            events._set_running_loop(former)

    def _soon(self) -> float:
        return _TURN * (0.25 + self.queue.random.random())

    def _schedule(self, seconds: float) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.queue.at(self.queue.now + seconds, self._turn, counts=False)

    # --- what asyncio asks of an event loop ----------------------------------------------------------------

    def time(self) -> float:
        return self.queue.now

    def call_soon(
        self, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        if not self.dead:
            self._schedule(self._soon())
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.queue.now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        if not self.dead:
            self.queue.at(when, lambda: self._due(timer), counts=False)
        return timer

    def _due(self, timer: asyncio.TimerHandle) -> None:
        if not self.dead and not timer.cancelled():
            self._ready.append(timer)
            self._schedule(self._soon())

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing: it is passed over when it is due."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> asyncio.Task[Any]:
        number = next(self._numbers)
        task = _Task(coro, loop=self, number=number, name=name or f"{self.name}-{number}", context=context)
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Have ``func`` run as an event of its own, as if a thread did it; in a dead process at once."""
        future = self.create_future()

        def work() -> None:
            if self.dead and not unwinding:
                return
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
                outcome: Callable[[], None] = lambda error=error: future.set_exception(error)  # type: ignore[misc] # noqa: E731
            else:
                outcome = lambda: future.set_result(result)  # noqa: E731
            self.call_soon(lambda: None if future.done() else outcome())

        unwinding = self.dead
        if unwinding:
            work()
        else:
            wait = max(0.0, self.paused_until - self.queue.now)
            self.queue.after(wait + _THREAD * self.queue.random.random(), work)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.dead:
            self._failed(f"{self.name}: {context.get('message')}: {context.get('exception')!r}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.dead

    def is_closed(self) -> bool:
        return False
