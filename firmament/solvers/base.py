"""The seam between the network and whatever solves it: arrays in, flows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class FlowProblem:
    """A min-cost flow problem that always has a feasible flow.

    ``tails``, ``heads``: int32[A], node numbers; ``capacities``, ``costs``: int64[A], capacities >= 0;
    ``supplies``: int64[N], positive at sources, negative at sinks, summing to 0. Lower bounds are 0.

    ``stated``: the original problem, if this one is only a cheaper way to its optimum (other costs, or a part of its
    arcs); None if this one is the original. Solvers ignore it; comparisons use it.
    """

    tails: Int32
    heads: Int32
    capacities: Int64
    costs: Int64
    supplies: Int64
    stated: FlowProblem | None = None


@dataclass(frozen=True, slots=True)
class FlowSolution:
    """``flows``: int64[A] in the order of the problem's arcs; ``seconds``: time spent in the solver alone."""

    flows: Int64
    seconds: float


class SolverError(RuntimeError):
    """The solver refused the problem or died; the message says which status it returned."""


class SolverClosedError(SolverError):
    """The solver takes no more problems, as its process ends."""

    def __init__(self) -> None:
        super().__init__("the solver is closed")


class SolverTimeoutError(SolverError):
    """The solve was cut off at its time limit; nothing of it is usable."""


class Solver(Protocol):
    """Finds an optimal flow.

    Implementations are deterministic: equal problems give equal flows. ``time_limit`` is in seconds, None for none;
    solvers that cannot be interrupted ignore it.
    """

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """Return an optimal flow; raises ``SolverError`` or ``SolverTimeoutError``."""
        ...
