"""Processes of both programs, forked from one that has imported them all: starting anew takes a second of a core each.

They are processes like others: children of this one, with sessions, environments and logs of their own, to be signalled
and killed. Tests of how programs start begin with an interpreter instead.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import IO, Any

from cost_models.registry import available, model_class

MODULES = (
    "firmament.cli",
    "firmament.commands.serve",
    "firmament.server.process",
    "poseidon.cli",
    "poseidon.commands.run",
    "poseidon.commands.ui",
    "poseidon.bridge.runner",
    "poseidon.testbed.process",
    # These are imported when the programs are told to use them.
    "kubernetes.config",
    "numpy.ma",
    "numpy.random",
    "uvloop",
)
"""What is imported once. None of them starts a thread, or opens anything, by being imported."""

_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_LONGEST_ORDER = 1 << 17


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class ForkedProcess:
    """A child of this process, as ``asyncio.subprocess.Process`` shows one; used within one event loop."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._descriptor = os.pidfd_open(pid)
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._loop.add_reader(self._descriptor, self._note_end)

    async def wait(self) -> int:
        return int(await asyncio.shield(self._ended))

    def send_signal(self, number: int, /) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        signal.pidfd_send_signal(self._descriptor, number)

    def _note_end(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        if not self._ended.done():
            self._ended.set_result(self.returncode)


async def fork(command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> ForkedProcess:
    """Start a module with arguments; a ``Launch`` of the testbed's harness."""
    return ForkedProcess(start(command, environment, (log.fileno(), log.fileno())))


def start(command: Sequence[str], environment: Mapping[str, str], outputs: Sequence[int]) -> int:
    """Start a module with arguments, whose output and errors go to two descriptors; return the id of the process.

    It is a child of this process, and ends with it.
    """
    channel = _forking_process()
    order = json.dumps({"command": [*command], "environment": {**environment}, "parent": os.getpid()})
    with _taking_in_orphans():
        socket.send_fds(channel, [order.encode()], outputs)
        return int(channel.recv(100))


@contextmanager
def _taking_in_orphans() -> Iterator[None]:
    """Become the parent of a process below this one whose own parent ends."""
    _prctl(_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _prctl(_SET_CHILD_SUBREAPER, 0)


@cache
def _forking_process() -> socket.socket:
    """Start the process that all others are forked from; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.support.preloaded", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    return ours


def fork_on_demand(channel: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each order; return None when no more come, and in each such process what it is to do."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, _LONGEST_ORDER, 2)
        if not message:
            return None
        # Twice, so that the one who orders becomes the parent.
        if os.fork() == 0:
            if os.fork() == 0:
                order: dict[str, Any] = json.loads(message)
                _become_its_child(order["parent"], descriptors)
                channel.send(str(os.getpid()).encode())
                channel.close()
                return order
            os._exit(0)
        os.wait()
        for each in descriptors:
            os.close(each)


def _become_its_child(parent: int, outputs: Sequence[int]) -> None:
    """Wait until ``parent`` is the parent, be told of its end, and take its descriptors for outputs."""
    os.setsid()
    while os.getppid() != parent:
        if os.getppid() == 1:
            os._exit(1)
        time.sleep(0.0005)  # until the one in between has ended, which is about to
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    for descriptor, number in zip(outputs, (1, 2), strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)


def main(descriptor: int) -> None:
    """Import everything, fork on demand, and in what was forked run the module that was ordered."""
    for module in MODULES:
        import_module(module)
    for model in available():
        model_class(model)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as channel:
        order = fork_on_demand(channel)
    if order is None:
        return
    gc.unfreeze()
    module, *arguments = order["command"]
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[:] = [*filter(None, order["environment"].get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
