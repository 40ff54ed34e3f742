"""Controls one worker process from its parent: starts it, sends it problems, kills it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np

from firmament.solvers.base import FlowProblem, FlowSolution, SolverError, SolverTimeoutError
from firmament.solvers.shared_region import SharedRegion
from firmament.solvers.worker import READY, REFUSED, REPLY, REQUEST, receive_exactly

START_SECONDS = 60.0
"""Seconds within which a worker must load its solver; the limit is high, because machines can be very busy at start."""


class WorkerDiedError(SolverError):
    """The worker process ended during a solve; another worker may succeed."""


class WorkerHandle:
    """A worker process. Only one thread at a time may use the handle, but any thread may call ``kill``."""

    def __init__(self, factory: str) -> None:
        self._ready = False
        self._region = SharedRegion.create()
        self._channel, theirs = socket.socketpair()
        lifeline_read, self._lifeline = os.pipe()
        descriptors = (theirs.fileno(), self._region.descriptor, lifeline_read)
        try:
            # A new interpreter is started, not a fork: a forked copy of a threaded process may hold locks for ever.
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
                [
                    sys.executable,
                    "-P",
                    "-c",
                    "import sys; from firmament.solvers.worker import main; main(sys.argv[1:])",
                    *map(str, descriptors),
                    factory,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                    "OPENBLAS_NUM_THREADS": "1",
                    "OMP_NUM_THREADS": "1",
                },
                pass_fds=descriptors,
                process_group=0,  # Ctrl-C at a terminal reaches the parent process alone.
            )
        except OSError as error:
            self._release()
            raise SolverError(f"the solver process cannot be started: {error}") from error
        finally:
            theirs.close()
            os.close(lifeline_read)

    @property
    def pid(self) -> int:
        """Process ID of the worker."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def solve(self, problem: FlowProblem, deadline: float | None) -> FlowSolution:
        """Solve a problem in the worker, at most until ``deadline`` (on the monotonic clock, None for none).

        Raise ``SolverTimeoutError`` or ``WorkerDiedError``, after which the caller must kill the worker, or
        ``SolverError`` if the solver refused the problem.
        """
        self._wait_until_ready()
        arcs, nodes = len(problem.tails), len(problem.supplies)
        shared, flows = self._region.views(arcs, nodes)
        for name in ("tails", "heads", "capacities", "costs", "supplies"):
            np.copyto(getattr(shared, name), getattr(problem, name))
        try:
            self._channel.sendall(REQUEST.pack(arcs, nodes))
        except OSError as error:
            raise self._explain_death() from error
        status, seconds, text = self._reply(deadline)
        if status == REFUSED:
            raise SolverError(text)
        return FlowSolution(flows=flows.copy(), seconds=seconds)

    def kill(self) -> None:
        """End the process at once; a thread that waits in ``solve`` gets ``WorkerDiedError``.

        A second call has no effect.
        """
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def dispose(self) -> None:
        """End the process and release its memory and descriptors, once no thread uses them.

        A second call has no effect.
        """
        self.kill()
        self._release()

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        try:
            status, _, _ = self._reply(time.monotonic() + START_SECONDS)
        except SolverTimeoutError as error:
            raise WorkerDiedError(f"the solver process did not start within {START_SECONDS:.0f} s") from error
        assert status == READY
        self._ready = True

    def _reply(self, deadline: float | None) -> tuple[int, float, str]:
        """Return status, seconds and text of the next reply."""
        try:
            if deadline is None:
                self._channel.settimeout(None)
            else:
                self._channel.settimeout(max(deadline - time.monotonic(), 1e-6))
            status, seconds, length = REPLY.unpack(receive_exactly(self._channel, REPLY.size))
            text = receive_exactly(self._channel, length).decode() if length else ""
        except TimeoutError as error:
            raise SolverTimeoutError("the solve was cut off at its time limit") from error
        except (EOFError, OSError) as error:
            raise self._explain_death() from error
        return status, seconds, text

    def _explain_death(self) -> WorkerDiedError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        return WorkerDiedError(f"the solver process died (exit status {self._process.returncode})")

    def _release(self) -> None:
        self._channel.close()
        self._region.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
