"""Runs a function in a copy of this process, which has all of its memory as it was, and returns the result.

The system copies memory only where one of the two processes writes, so a copy of a cluster's state takes some
milliseconds. A copied process has only the thread that made it, and locks that other threads held stay locked in it.
The function may therefore use nothing that threads share: no logging, no channel, no worker. A copy that hangs all
the same is killed in time.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

log = logging.getLogger(__name__)

_CHUNK = 1 << 16
_GRACE_SECONDS = 1.0
"""Seconds after its deadline at which a copy ends itself if nobody has killed it."""
_NICENESS = 5
"""How much a copy is disadvantaged on a busy processor, because rounds are more urgent."""
_DONE, _FAILED = b"+", b"-"
_STANDARD = 3
"""The first file descriptor that is not a standard stream."""


def allow_copies() -> None:
    """Keep gRPC from starting anything in copies of this process; call this function before gRPC is imported.

    By default gRPC would start its threads again in the copy, and they would take messages that are for the parent.
    """
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"


class CopyError(Exception):
    """A copy of the process has returned no result.

    The text says what happened to the copy, without naming it: "failed: …". Callers put a subject before it.
    """


class ProcessCopy:
    """A copy of this process that calls ``work`` for at most ``seconds``, and begins when this object is made.

    Only one thread may call ``result``, once; any thread may call ``kill``.
    """

    def __init__(self, work: Callable[[], bytes], seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._results, results = os.pipe()
        with warnings.catch_warnings():
            # Since Python 3.12, os.fork warns that locks of other threads stay locked in the copy; see the docstring
            # of this module.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if not self._pid:
            _work(work, results, seconds)
        os.close(results)
        self._runs = threading.Lock()
        self._has_ended = False

    def result(self) -> bytes:
        """Wait for the copy to end, and return the result of ``work``.

        Raise ``CopyError`` if the copy has returned no result.
        """
        try:
            received = self._receive()
        finally:
            os.close(self._results)
            self.kill()
            with self._runs:
                os.waitpid(self._pid, 0)
                self._has_ended = True
        if received[:1] == _DONE:
            return received[1:]
        if received[:1] != _FAILED:
            raise CopyError("was ended before it had a result")
        text = received[1:].decode()
        log.error("a copy of this process has failed\n%s", text)
        raise CopyError(f"failed: {text.splitlines()[-1]}")

    def kill(self) -> None:
        """End the copy at once, if it has not ended."""
        with self._runs:
            if not self._has_ended:
                os.kill(self._pid, signal.SIGKILL)

    def _receive(self) -> bytes:
        """Return all that the copy sends until it ends. Raise ``CopyError`` at the deadline."""
        received, poller = bytearray(), select.poll()
        poller.register(self._results, select.POLLIN)
        while True:
            left = self._ends - time.monotonic()
            if left <= 0 or not poller.poll(left * 1000.0):
                raise CopyError("took too long and was ended")
            part = os.read(self._results, _CHUNK)
            if not part:
                return bytes(received)
            received += part


def _work(work: Callable[[], bytes], results: int, seconds: float) -> NoReturn:
    """Be the copy: call ``work``, send its result or error, and end."""
    try:
        gc.disable()
        _leave_parent(results, seconds)
        sent = _DONE + work()
    except BaseException:  # noqa: BLE001 - nothing above this function may go on in a copy
        sent = _FAILED + traceback.format_exc().encode()
    try:
        while sent:
            sent = sent[os.write(results, sent) :]
    finally:
        os._exit(0)


def _leave_parent(results: int, seconds: float) -> None:
    """Give up what belongs to the parent: descriptors except ``results``, handlers of signals, its priority."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(each, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_SECONDS)
    # The limit on descriptors may be a billion, so the open ones are listed.
    for number in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        if number >= _STANDARD and number != results:
            with suppress(OSError):  # The descriptor of the listing itself is closed already.
                os.close(number)
    os.nice(_NICENESS)
