"""Defines the interface between networks and solvers: a solver gets arrays and returns flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class FlowProblem:
    """A min-cost flow problem for which a feasible flow exists.

    ``tails``, ``heads``: int32[A], node numbers. ``capacities``, ``costs``: int64[A], capacities >= 0. ``supplies``:
    int64[N], positive at sources, negative at sinks, summing to 0. Lower bounds are 0.

    ``stated``: the original problem, if the present one only helps to find its optimum faster (with other costs, or a
    part of its arcs); None if the present one is the original. Solvers ignore ``stated``; comparisons use it.
    """

    tails: Int32
    heads: Int32
    capacities: Int64
    costs: Int64
    supplies: Int64
    stated: FlowProblem | None = None


@dataclass(frozen=True, slots=True)
class FlowSolution:
    """The solution of a problem.

    ``flows``: int64[A], in the order of the problem's arcs. ``seconds``: time spent in the solver alone.
    """

    flows: Int64
    seconds: float


class SolverError(RuntimeError):
    """The solver refused the problem or died; the message says which status it returned."""


class SolverClosedError(SolverError):
    """The solver is closed and solves no more problems."""

    def __init__(self) -> None:
        super().__init__("the solver is closed")


class SolverTimeoutError(SolverError):
    """The solve was stopped at its time limit and has no result."""


class Solver(Protocol):
    """Finds optimal flows.

    Implementations are deterministic: equal problems give equal flows. ``time_limit``: in seconds, None for none;
    solvers that cannot be interrupted ignore it.
    """

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """Return an optimal flow; raise ``SolverError``, or ``SolverTimeoutError`` at the time limit."""
        ...
