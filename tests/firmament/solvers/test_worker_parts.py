"""The memory that a solver process shares, and what the process reads and answers."""

from __future__ import annotations

import os
import socket
from typing import Any

import numpy as np
import pytest

from firmament.solvers.base import FlowProblem, FlowSolution, SolverError
from firmament.solvers.shared_region import SharedRegion
from firmament.solvers.worker import REFUSED, SOLVED, _solve, load_solver, receive_exactly


@pytest.fixture
def region():
    made = SharedRegion.create()
    yield made
    made.close()


def test_two_views_of_one_size_show_the_same_memory(region: SharedRegion):
    problem, flows = region.views(3, 2)
    assert [
        len(each) for each in (problem.tails, problem.heads, problem.capacities, problem.costs, flows)
    ] == [3] * 5
    assert len(problem.supplies) == 2
    assert [str(each.dtype) for each in (problem.tails, problem.costs, flows)] == ["int32", "int64", "int64"]
    arrays: list[Any] = [
        problem.tails,
        problem.heads,
        problem.capacities,
        problem.costs,
        problem.supplies,
        flows,
    ]
    for number, array in enumerate(arrays, 1):
        array[:] = number
    other = SharedRegion(os.dup(region.descriptor))
    again, flowing = other.views(3, 2)
    seen = (again.tails, again.heads, again.capacities, again.costs, again.supplies, flowing)
    assert [set(each.tolist()) for each in seen] == [{1}, {2}, {3}, {4}, {5}, {6}]
    del again, flowing, seen
    other.close()


def test_a_region_grows_and_keeps_its_size(region: SharedRegion):
    region.views(1, 1)
    assert os.fstat(region.descriptor).st_size == 2**20
    region.views(30_000, 1)
    grown = os.fstat(region.descriptor).st_size
    assert grown >= 8 * (3 * 30_000 + 1) + 8 * 30_000
    region.views(1, 1)
    assert os.fstat(region.descriptor).st_size == grown
    problem, _ = region.views(0, 0)
    assert len(problem.tails) == 0


def test_a_region_may_be_closed_twice():
    made = SharedRegion.create()
    descriptor = made.descriptor
    made.close()
    assert made.descriptor == -1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    made.close()


def test_texts_are_received_to_the_end():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"abcd")
        assert receive_exactly(ours, 3) == b"abc"
        assert receive_exactly(ours, 0) == b""
        theirs.sendall(b"e")
        assert receive_exactly(ours, 2) == b"de"
        theirs.sendall(b"f")
        theirs.close()
        with pytest.raises(EOFError, match="the other process closed the connection"):
            receive_exactly(ours, 2)


class Solver:
    """Sends a flow of 7 over every arc, or refuses."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        if self.fault:
            raise SolverError(self.fault)
        return FlowSolution(np.full(len(problem.tails), 7), 1.5)


def test_a_problem_in_the_region_is_solved_there(region: SharedRegion):
    assert _solve(Solver(), region, 2, 1) == (SOLVED, 1.5, "")
    assert region.views(2, 1)[1].tolist() == [7, 7]
    assert _solve(Solver("too odd"), region, 2, 1) == (REFUSED, 0.0, "too odd")


def test_solvers_are_named_by_module_and_class():
    assert isinstance(load_solver(f"{__name__}:Solver"), Solver)
