"""Runs the worker process: it solves problems in shared memory, one at a time, until its parent ends.

The parent and the worker talk over a socket pair. The worker sends READY once its solver is loaded. For each problem,
the parent then sends ``REQUEST``, and the worker answers with ``REPLY`` and a text.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import select
import socket
import struct
import sys
from typing import Final, cast

from firmament.memory import keep_freed_memory
from firmament.solvers.base import Solver, SolverError
from firmament.solvers.shared_region import SharedRegion

REQUEST: Final = struct.Struct("<qq")
"""Format of a request: numbers of arcs and nodes of the problem in the shared region."""
REPLY: Final = struct.Struct("<Bdi")
"""Format of a reply: status, seconds spent in the solver, length of the UTF-8 text that follows."""
READY: Final = 0
SOLVED: Final = 1
REFUSED: Final = 2


def receive_exactly(channel: socket.socket, count: int) -> bytes:
    """Return ``count`` bytes; raise ``EOFError`` if the other side closes first."""
    data = bytearray()
    while len(data) < count:
        part = channel.recv(count - len(data))
        if not part:
            raise EOFError("the other process closed the connection")
        data += part
    return bytes(data)


def load_solver(factory: str) -> Solver:
    """Return an instance of the solver class that ``package.module:Class`` names."""
    module, _, name = factory.partition(":")
    return cast("Solver", getattr(importlib.import_module(module), name)())


def main(arguments: list[str]) -> None:
    """Run a worker.

    ``arguments``: file descriptors of the socket, the memory and the lifeline (a pipe from the parent), then
    ``package.module:Class``.
    """
    channel_fd, region_fd, lifeline_fd = (int(each) for each in arguments[:3])
    die_with_parent(lifeline_fd)
    keep_freed_memory()
    channel = socket.socket(fileno=channel_fd)
    region = SharedRegion(region_fd)
    solver = load_solver(arguments[3])
    try:
        channel.sendall(REPLY.pack(READY, 0.0, 0))
        while True:
            arcs, nodes = REQUEST.unpack(receive_exactly(channel, REQUEST.size))
            status, seconds, text = _solve(solver, region, arcs, nodes)
            encoded = text.encode()
            channel.sendall(REPLY.pack(status, seconds, len(encoded)) + encoded)
    except (EOFError, ConnectionError):
        return


def _solve(solver: Solver, region: SharedRegion, arcs: int, nodes: int) -> tuple[int, float, str]:
    """Solve the problem in the region, write its flows there, and return status, seconds and error text."""
    problem, flows = region.views(arcs, nodes)
    try:
        solution = solver.solve(problem)
    except SolverError as error:
        return REFUSED, 0.0, str(error)
    flows[:] = solution.flows
    return SOLVED, solution.seconds, ""


def die_with_parent(lifeline: int) -> None:
    """Have the kernel end this process as soon as the parent's end of the pipe closes, even during a solve.

    While a solver holds the interpreter's lock for seconds, no signal handler and no thread can run. Nothing is ever
    written to the pipe, so the only event on it is its closing; that raises SIGIO, whose default action is to
    terminate. (PR_SET_PDEATHSIG would already act when the *thread* that started this process ends.)
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    poller = select.poll()
    poller.register(lifeline, select.POLLIN)
    if poller.poll(0):  # The pipe was closed before the line above took effect.
        sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
