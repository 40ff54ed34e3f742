"""The process that ``tests/support/preloaded.py`` starts: it imports both programs, and forks one for each order.

Each order comes over a connection of its own, with the descriptors of the new process. The answer is its id, and when
it has ended, its status. It is killed if the connection is closed before.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import marshal
import multiprocessing
import os
import runpy
import select
import shutil
import signal
import socket
import struct
import sys
import threading
import types
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

from cost_models.registry import list_available, model_class

MODULES: Final = (
    "firmament.cli",
    "firmament.commands.serve",
    "firmament.server.solver_server",
    "poseidon.cli",
    "poseidon.commands.run",
    "poseidon.commands.ui",
    "poseidon.bridge.runner",
    "poseidon.testbed.process",
    # These are imported when the programs are told to use them, or by the process that solves.
    "kubernetes.config",
    "numpy.ma",
    "numpy.random",
    "ortools.graph.python.min_cost_flow",
    "uvloop",
)
"""What is imported once. None of them starts a thread, or opens anything, by being imported."""

LONGEST_ORDER: Final = 1 << 17
MOST_DESCRIPTORS: Final = 250
_SET_PARENT_DEATH_SIGNAL: Final = 1


@dataclass(frozen=True, slots=True)
class Order:
    """What a forked process is to do: as the arguments of an interpreter, ``-m MODULE`` or ``-c CODE`` and others."""

    arguments: list[str]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Running:
    """A forked process, and whoever ordered it."""

    pid: int
    ordered_by: int
    connection: socket.socket


class Server:
    """Forks a process for each order, until nobody is left who could give one."""

    def __init__(self, lifeline: socket.socket, listener: socket.socket) -> None:
        self._lifeline = lifeline
        self._listener = listener
        self._connections: dict[int, socket.socket] = {}
        #: By a descriptor that can be read when the process has ended.
        self._running: dict[int, Running] = {}
        self._poll = select.poll()
        for each in (lifeline, listener):
            self._poll.register(each, select.POLLIN)

    def serve(self) -> Order | None:
        """Return None in this process, when it is to end, and in each forked one what that is to do."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._lifeline.fileno():
                    return None
                if descriptor == self._listener.fileno():
                    connection, _ = self._listener.accept()
                    self._connections[connection.fileno()] = connection
                    self._poll.register(connection, select.POLLIN)
                elif descriptor in self._running:
                    self._tell_end(descriptor)
                elif descriptor in self._connections:
                    order = self._hear(self._connections[descriptor])
                    if order is not None:
                        return order

    def _hear(self, connection: socket.socket) -> Order | None:
        """Take an order, or the end of a connection. Returns an order in the process that is forked for it."""
        try:
            message, descriptors, _, _ = socket.recv_fds(connection, LONGEST_ORDER, MOST_DESCRIPTORS)
        except ConnectionResetError:  # whoever ordered was killed before it had read the answer
            message, descriptors = b"", []
        if not message:
            self._forget(connection)
            return None
        said = marshal.loads(message)
        if isinstance(said, int):
            found = [each.pid for each in self._running.values() if each.ordered_by == said]
            with suppress(OSError):
                connection.send(str(found[0] if found else 0).encode())
            return None
        arguments, folder, environment, numbers = said
        try:
            pid = os.fork()
        except OSError as fault:
            print(f"forking server: {fault}", file=sys.stderr)  # noqa: T201 (that of the tests, and all that it says)
            pid = -1
        if pid:
            for each in descriptors:
                os.close(each)
            if pid > 0:
                self._note(pid, connection)
            else:
                self._forget(connection)
            return None
        self._leave()
        _place(descriptors, numbers)
        with suppress(OSError):
            os.chdir(folder)
        return Order(
            [os.fsdecode(each) for each in arguments],
            {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
        )

    def _note(self, pid: int, connection: socket.socket) -> None:
        """Say the id of a forked process, and wait for its end."""
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        end = os.pidfd_open(pid)
        self._running[end] = Running(pid, struct.unpack("3i", peer)[0], connection)
        self._poll.register(end, select.POLLIN)
        with suppress(OSError):
            socket.send_fds(connection, [str(pid).encode()], [end])

    def _tell_end(self, end: int) -> None:
        running = self._running.pop(end)
        self._poll.unregister(end)
        os.close(end)
        _, status = os.waitpid(running.pid, 0)
        with suppress(OSError):
            running.connection.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _forget(self, connection: socket.socket) -> None:
        """Kill the process that was ordered over a connection, if it still runs."""
        for each in self._running.values():
            if each.connection is connection:
                os.kill(each.pid, signal.SIGKILL)
        self._poll.unregister(connection)
        del self._connections[connection.fileno()]
        connection.close()

    def _leave(self) -> None:
        """Make a forked process one of its own, which has nothing of what this one has open."""
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        for each in (self._lifeline, self._listener, *self._connections.values()):
            each.close()
        for end in self._running:
            os.close(end)


def _place(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Give descriptors the numbers that they have in another process."""
    above = max([*descriptors, *numbers]) + 1
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD, above) for each in descriptors]
    for each in descriptors:
        os.close(each)
    for each, number in zip(moved, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)


def main(lifeline: int, listener: int, folder: Path) -> None:
    """Import everything, fork on demand, and in what was forked do as was ordered."""
    for module in MODULES:
        import_module(module)
    for model in list_available():
        model_class(model)
    gc.collect()
    gc.freeze()
    order = Server(socket.socket(fileno=lifeline), socket.socket(fileno=listener)).serve()
    if order is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    # A shell starts what it runs in the background with SIGINT ignored, and whoever is forked inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.executable = str(folder / "python")
    multiprocessing.set_executable(sys.executable)
    first = [each for each in order.environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.path[:] = [*first, *(each for each in sys.path if each not in first)]
    _end(_carry_out(order))


def _carry_out(order: Order) -> int:
    """Run a module or code, and return the status that an interpreter would end with; negative for a signal."""
    kind, what, *rest = order.arguments
    sys.argv = [what if kind == "-m" else kind, *rest]
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            code = types.ModuleType("__main__")
            sys.modules["__main__"] = code
            exec(compile(what, "<string>", "exec"), code.__dict__)
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        print(ending.code, file=sys.stderr)  # noqa: T201 (as an interpreter does)
        return 1
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        return -signal.SIGINT
    except BaseException:  # noqa: BLE001 (as an interpreter does)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """End as an interpreter does, but for the third of a second in which it would free all modules one by one."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for each in (sys.stdout, sys.stderr):
        try:
            if not each.closed:
                each.flush()
        except OSError:
            status = status or 120
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
