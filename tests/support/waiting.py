"""Waiting for conditions instead of for the clock."""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from tests.support.time_limits import stretch

PATIENCE: Final = 10.0
"""Seconds after which a test that waits says what it waits for, and again each time as many have gone by."""

PAUSE: Final = 0.005
"""Seconds between the first tries."""

LONGEST_PAUSE: Final = 0.05
"""Each pause is a fifth longer than the one before, up to this: asking takes time from those who are waited for."""


class Terminal:
    """Where tests that wait long say so; a plugin of pytest sets how its capturing is put off meanwhile."""

    uncaptured: Callable[[], AbstractContextManager[None]] = nullcontext

    @classmethod
    def tell(cls, line: str) -> None:
        """Write a line that a person sees while tests run."""
        with cls.uncaptured():
            print(line, file=sys.stderr, flush=True)  # noqa: T201 (for the person who waits for the tests)


async def until(condition: Callable[[], object], *, within: float = 15.0, what: str = "") -> object:
    """Return the first true value of ``condition``; it may be a coroutine function.

    ``within`` is in seconds of two quiet cores. Raises AssertionError that says ``what``, or the condition's source.
    """
    pauses = lengthen_pauses()
    for _ in waits(within, lambda: what or inspect.getsource(condition).strip()):
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        await asyncio.sleep(next(pauses))
    raise AssertionError("unreachable")


async def stays(condition: Callable[[], object], seconds: float, what: str = "") -> None:
    """Raise AssertionError unless ``condition`` holds for so long; it may be a coroutine function.

    That something does not happen is seen in no other way than by waiting. On a slow machine this sees less, and is
    never red by that alone.
    """
    end, pauses = time.monotonic() + seconds, lengthen_pauses()
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        assert value, f"no longer: {what or inspect.getsource(condition).strip()}"
        if time.monotonic() >= end:
            return
        await asyncio.sleep(next(pauses))


def wait_until(
    condition: Callable[[], object],
    *,
    within: float = 15.0,
    what: str = "",
    clock: Callable[[], float] = time.monotonic,
) -> object:
    """Do as ``until`` does, in a thread that has no event loop."""
    pauses = lengthen_pauses()
    for _ in waits(within, lambda: what or inspect.getsource(condition).strip(), clock):
        value = condition()
        if value:
            return value
        time.sleep(next(pauses))
    raise AssertionError("unreachable")


def lengthen_pauses() -> Iterator[float]:
    """Yield how long to pause between tries."""
    pause = PAUSE
    while True:
        yield pause
        pause = min(pause * 1.2, LONGEST_PAUSE)


def waits(
    within: float, describe: Callable[[], str], clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Yield once for each try; raise AssertionError when time is up, at the earliest after a second try.

    A try that comes late, because this process got no turn, is made all the same.
    """
    begun = told = clock()
    late = False
    while True:
        yield
        now = clock()
        if now - begun > stretch(within):
            if late:
                raise AssertionError(f"not within {now - begun:.0f} s: {describe()}")
            late = True
        elif now - told > PATIENCE:
            told = now
            Terminal.tell(
                f"\nfor {now - begun:.0f} s of at most {stretch(within):.0f} s: waiting for {describe()}"
            )


@contextmanager
def no_more_than(
    seconds: float, what: str = "", clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Raise AssertionError if what is done in between takes longer; in seconds of two quiet cores."""
    begun = clock()
    yield
    taken = clock() - begun
    assert taken < stretch(seconds), f"{what or 'this'} took {taken:.1f} s"
