"""Processes of both programs, forked from one that has imported them all: starting anew takes a second of a core each.

They are processes like others, with sessions, environments and logs of their own, to be signalled and killed; they are
killed when whoever started them ends. Tests that start an interpreter, or a program that starts others, take
``quick_python()`` for it. Tests of how programs start begin with a real one.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

QUICK = Path(__file__).with_name("quick_python.py")
"""What ``quick_python()`` is made of."""

SERVER = "tests.support.forking_server"
FOLDER = "FOLDER_OF_FORKING_SERVER"
"""The variable that says where a process takes orders of all workers."""

_LINE = 100
"""Bytes; the server answers with numbers."""


class ForkedProcess:
    """A process of the server, as ``asyncio.subprocess.Process`` shows one; used within one event loop."""

    def __init__(self, pid: int, descriptor: int, connection: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._descriptor = descriptor
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._loop.add_reader(connection, self._note_end)

    async def wait(self) -> int:
        return int(await asyncio.shield(self._ended))

    def send_signal(self, number: int, /) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        signal.pidfd_send_signal(self._descriptor, number)

    def _note_end(self) -> None:
        self._loop.remove_reader(self._connection)
        self.returncode = int(self._connection.recv(_LINE))
        self._connection.close()
        os.close(self._descriptor)
        if not self._ended.done():
            self._ended.set_result(self.returncode)


async def fork(command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> ForkedProcess:
    """Start a module with arguments; a ``Launch`` of the testbed's harness."""
    return ForkedProcess(*start(command, environment, (log.fileno(), log.fileno())))


def start(
    command: Sequence[str], environment: Mapping[str, str], outputs: Sequence[int]
) -> tuple[int, int, socket.socket]:
    """Start a module with arguments, whose output and errors go to two descriptors.

    Returns the id of the process, a descriptor of it, and the connection that tells its status when it has ended. It is
    killed when that is closed.
    """
    connection = _connect()
    order = (["-m", *command], str(Path.cwd()), {**environment}, [0, 1, 2])
    with open(os.devnull) as nothing:  # noqa: PTH123 (a descriptor, not a text)
        socket.send_fds(connection, [marshal.dumps(order)], [nothing.fileno(), *outputs])
    answer, [descriptor], _, _ = socket.recv_fds(connection, _LINE, 1)
    return int(answer), descriptor, connection


def quick_python() -> str:
    """Return the path of what takes the arguments of an interpreter, and runs modules and code in forked processes.

    Those have it as ``sys.executable``, so that processes that they start are forked too. Their descriptors, folder and
    environment are those of whoever starts it; signals reach them, and they are killed if it is.
    """
    return str(server() / "python")


def process_of(quick: int) -> int:
    """Return the id of the process that runs for one of a quick interpreter. Raises ProcessLookupError if none does."""
    with _connect() as connection:
        connection.send(marshal.dumps(quick))
        found = int(connection.recv(_LINE))
    if not found:
        raise ProcessLookupError
    return found


def _connect() -> socket.socket:
    """Open a connection for one order. If the server that workers share is gone, this worker starts its own."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(str(server() / "orders"))
    except (ConnectionRefusedError, FileNotFoundError):
        os.environ.pop(FOLDER, None)
        server.cache_clear()
        connection.connect(str(server() / "orders"))
    return connection


@cache
def server() -> Path:
    """Start the process that all others are forked from, unless workers share one; it ends with whoever started it.

    Returns the folder where it takes orders. What comes while it imports the programs waits.
    """
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER])
    folder = Path(tempfile.mkdtemp(prefix="quick-"))
    program = folder / "python"
    text = QUICK.read_text().replace("ADDRESS_OF_ORDERS", str(folder / "orders"))
    program.write_text(f"#!{sys.executable} -IS\n{text.replace('REAL_PYTHON', sys.executable)}")
    program.chmod(0o755)
    ours, theirs = socket.socketpair()
    with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / "orders"))
        listener.listen(200)
        descriptors = (theirs.fileno(), listener.fileno())
        subprocess.Popen(
            [sys.executable, "-P", "-m", SERVER, *map(str, descriptors), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl-C at a terminal is for the one who started it
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    ours.detach()  # open until the end
    return folder
