"""Runs a solver in worker processes, so that a long solve blocks no other thread and can be stopped."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from firmament.solvers.base import (
    FlowProblem,
    FlowSolution,
    SolverClosedError,
    SolverError,
    SolverTimeoutError,
)
from firmament.solvers.worker_handle import WorkerDiedError, WorkerHandle

DEFAULT_SOLVER = "firmament.solvers.ortools_solver:OrToolsSolver"
_KEPT_READY = 2  # One worker solves, and a spare one can take over at once.


class ProcessSolver:
    """Solves in worker processes; safe to share between threads, which then solve in parallel.

    ``factory``: the solver to run in the workers, as ``package.module:Class``. ``on_restart``: called whenever a
    worker had to be replaced, because it died or was killed at a time limit. When the server's process ends, for
    whatever reason, its workers end, too.
    """

    def __init__(
        self, factory: str = DEFAULT_SOLVER, *, on_restart: Callable[[], None] = lambda: None
    ) -> None:
        self._factory = factory
        self._on_restart = on_restart
        self._lock = threading.Lock()
        self._closed = False
        self._idle: deque[WorkerHandle] = deque(WorkerHandle(factory) for _ in range(_KEPT_READY))
        self._busy: set[WorkerHandle] = set()

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """Return an optimal flow; raise ``SolverError`` or ``SolverTimeoutError``.

        Raise ``SolverTimeoutError`` at the time limit (seconds). Raise ``SolverError`` if the solver refuses the
        problem, if two workers in a row die of the problem, or if this solver is closed.
        """
        deadline = None if time_limit is None else time.monotonic() + time_limit
        try:
            return self._solve_once(problem, deadline)
        except WorkerDiedError:
            return self._solve_once(problem, deadline)

    def close(self) -> None:
        """End all workers, also those that are solving; a second call has no effect."""
        with self._lock:
            self._closed = True
            idle, busy = list(self._idle), list(self._busy)
            self._idle.clear()
        for worker in idle:
            worker.dispose()
        for worker in busy:
            worker.kill()  # Another thread waits for this worker, and disposes of it.

    def worker_pids(self) -> tuple[int, ...]:
        """Return the process IDs of all workers: the busy workers, then idle ones in the order of their next use."""
        with self._lock:
            return tuple(worker.pid for worker in (*self._busy, *self._idle))

    def _solve_once(self, problem: FlowProblem, deadline: float | None) -> FlowSolution:
        worker = self._take_worker()
        try:
            solution = worker.solve(problem, deadline)
        except (WorkerDiedError, SolverTimeoutError):
            self._discard(worker)
            raise
        except BaseException:
            self._give_back(worker)
            raise
        self._give_back(worker)
        return solution

    def _take_worker(self) -> WorkerHandle:
        """Return a worker that only this thread uses, and start a spare worker if no idle one is left."""
        dead = []
        try:
            with self._lock:
                if self._closed:
                    raise SolverClosedError
                while self._idle and not self._idle[0].alive():
                    dead.append(self._idle.popleft())
                worker = self._idle.popleft() if self._idle else WorkerHandle(self._factory)
                self._busy.add(worker)
                if not self._idle:
                    # The solve succeeds even if the spare worker cannot be started.
                    with suppress(SolverError):
                        self._idle.append(WorkerHandle(self._factory))
                return worker
        finally:
            for each in dead:
                each.dispose()
                self._on_restart()

    def _give_back(self, worker: WorkerHandle) -> None:
        """Return a usable worker to the front of the pool, because its shared memory already has its size."""
        with self._lock:
            self._busy.discard(worker)
            self._idle.appendleft(worker)
            surplus = self._idle.pop() if self._closed or len(self._idle) > _KEPT_READY else None
        if surplus is not None:
            surplus.dispose()

    def _discard(self, worker: WorkerHandle) -> None:
        """Kill a worker that died or exceeded its time limit; count it as a restart unless this solver is closed."""
        with self._lock:
            self._busy.discard(worker)
            closed = self._closed
        worker.dispose()
        if closed:
            raise SolverClosedError
        self._on_restart()
