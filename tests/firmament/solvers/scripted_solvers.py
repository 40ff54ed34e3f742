"""Solvers for worker processes that misbehave as the problem asks: the first arc's cost says how."""

from __future__ import annotations

import ctypes
import os
import signal

from firmament.solvers.base import FlowProblem, FlowSolution, SolverError
from firmament.solvers.ortools_solver import OrToolsSolver

DIE = 1_000_001
HANG = 1_000_002
REFUSE = 1_000_003

SCRIPTED = "tests.firmament.solvers.scripted_solvers:ScriptedSolver"
SLOW = "tests.firmament.solvers.scripted_solvers:SlowSolver"
FAILING = "tests.firmament.solvers.scripted_solvers:FailingSolver"
SLOW_SECONDS = "TEST_SLOW_SECONDS"
SLOW_WHILE = "TEST_SLOW_WHILE"
FAIL_WHILE = "TEST_FAIL_WHILE"


def hold_interpreter(seconds: float) -> None:
    """Sleep as OR-Tools solves: without letting any other thread of the process run."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


class ScriptedSolver(OrToolsSolver):
    """Dies, hangs or refuses if the first arc's cost says so."""

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        match int(problem.costs[0]) if len(problem.costs) else 0:
            case code if code == DIE:
                os.kill(os.getpid(), signal.SIGKILL)
            case code if code == HANG:
                hold_interpreter(600)
            case code if code == REFUSE:
                raise SolverError("refused: ünlösbar")
        return super().solve(problem, time_limit=time_limit)


class SlowSolver(OrToolsSolver):
    """Takes the seconds that an environment variable names, or as long as the file exists that another one names.

    It holds the interpreter all the while.
    """

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        hold_interpreter(float(os.environ.get(SLOW_SECONDS, "0")))
        while os.path.exists(os.environ.get(SLOW_WHILE, "")):  # noqa: PTH110 - a test's helper, in another process
            hold_interpreter(0.01)
        return super().solve(problem, time_limit=time_limit)


class FailingSolver(OrToolsSolver):
    """Refuses everything as long as the file exists that an environment variable names."""

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        if os.path.exists(os.environ[FAIL_WHILE]):  # noqa: PTH110 - a test's helper, in another process
            raise SolverError("told to fail")
        return super().solve(problem, time_limit=time_limit)
