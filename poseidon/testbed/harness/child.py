"""Runs a child process that does not get the terminal's signals, and writes its output to a file."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol, TypeAlias

_ATTACHED = str(Path(__file__).with_name("attached.py"))
_ANNOUNCEMENT = "listening on "
_POLL_SECONDS = 0.02
_TAIL_LINES = 15


class ChildDiedError(Exception):
    """Raised if a child process has ended that should still run.

    ``end`` says how it ended, and ``tail`` has the last lines of its log. A negative ``status`` is the signal that
    killed it.
    """

    def __init__(self, name: str, status: int, tail: str) -> None:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        super().__init__(f"{name} {how} too early")
        self.status, self.end, self.tail = status, f"{name} {how}", tail


class Process(Protocol):
    """The part of ``asyncio.subprocess.Process`` that this module needs."""

    @property
    def pid(self) -> int:
        """Id of the process."""

    @property
    def returncode(self) -> int | None:
        """Exit status of the process, negative for the signal that killed it; None while it runs."""

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit status."""

    def send_signal(self, signal: int, /) -> None:
        """Send a signal. Raises ``ProcessLookupError`` if the process has ended."""


Launch: TypeAlias = Callable[[Sequence[str], IO[bytes], Mapping[str, str]], Awaitable[Process]]
"""A function that starts a module with arguments, the first of which is the module's name.

The output of the module goes to a file.
"""


async def start_anew(command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> Process:
    """Start a Python interpreter that runs a module."""
    attached = (sys.executable, "-I", _ATTACHED, str(os.getpid()), sys.executable, "-P", "-m", *command)
    return await asyncio.create_subprocess_exec(
        *attached,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=dict(environment),
        start_new_session=True,
    )


class Child:
    """A Python module that runs as a process and writes its output to the file ``log``.

    The process has its own session, so that Ctrl-C at the terminal reaches only the parent, which can then end its
    children in order. If the parent is killed, the children get SIGTERM (on Linux).
    """

    def __init__(
        self, name: str, module: str, arguments: Sequence[str], log: Path, launch: Launch = start_anew
    ) -> None:
        self.name = name
        self.log = log
        self._command = (module, *arguments)
        self._launch = launch
        self._process: Process | None = None
        self._announced_from = 0

    @property
    def pid(self) -> int:
        """Id of the process. Raises ``RuntimeError`` before ``start``."""
        return self._running().pid

    @property
    def started(self) -> bool:
        """Whether the process has been started."""
        return self._process is not None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process, or start it again after its end; its output is added to the log."""
        self._announced_from = self.log.stat().st_size if self.log.exists() else 0
        # The child looks for modules in the path of this process, but not in the current folder.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        with self.log.open("ab") as log:
            self._process = await self._launch(self._command, log, environment)

    async def read_address(self) -> str:
        """Wait for the line "listening on ADDRESS" in the output, and return the address.

        Raises ``ChildDiedError`` if the process ends before.
        """
        while True:
            with self.log.open("rb") as log:
                log.seek(self._announced_from)
                lines = log.read().decode("utf-8", "replace").splitlines(keepends=True)
            for line in lines:
                if line.startswith(_ANNOUNCEMENT) and line.endswith("\n"):
                    return line.removeprefix(_ANNOUNCEMENT).strip()
            if not self.alive:
                raise self.failure()
            await asyncio.sleep(_POLL_SECONDS)

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit status (negative for the signal that killed it)."""
        return await self._running().wait()

    def failure(self) -> ChildDiedError:
        """Return the error that describes how the process has ended."""
        status = self._running().returncode
        return ChildDiedError(self.name, 0 if status is None else status, self.tail())

    def tail(self) -> str:
        """Return the last lines of the process's log."""
        text = self.log.read_bytes().decode("utf-8", "replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-_TAIL_LINES:])

    async def stop(self, grace: float) -> int | None:
        """End the process by SIGTERM, or by SIGKILL if it still runs after ``grace`` seconds.

        Returns the exit status of the process, or None if it was never started.
        """
        if self._process is None:
            return None
        self.signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), grace)
        except TimeoutError:
            self.signal(signal.SIGKILL)
        return await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process; do nothing if it has ended or was not started."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _running(self) -> Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} has not been started")
        return self._process
