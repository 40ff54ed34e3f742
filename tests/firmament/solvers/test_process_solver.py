from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from firmament.solvers.base import FlowProblem, SolverError, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.solvers.process_solver import ProcessSolver
from tests.firmament.solvers.scripted_solvers import DIE, HANG, REFUSE, SCRIPTED
from tests.support.time_limits import stretch
from tests.support.waiting import wait_until

SECONDS = 30.0


def wait_for(condition: Callable[[], bool], seconds: float = SECONDS) -> bool:
    return bool(wait_until(condition, within=seconds))


def random_problem(
    seed: int, sources: int, sinks: int, arcs_each: int, first_cost: int | None = None
) -> FlowProblem:
    """A transport problem with an expensive way out for every source, so that it is always feasible."""
    rng = np.random.default_rng(seed)
    end = sources + sinks
    tails = np.repeat(np.arange(sources), arcs_each)
    heads = sources + np.concatenate([rng.permutation(sinks)[:arcs_each] for _ in range(sources)])
    costs = rng.integers(0, 100, len(tails))
    if first_cost is not None:
        costs[0] = first_cost
    return FlowProblem(
        tails=np.concatenate([tails, np.arange(sources, end), np.arange(sources)]).astype(np.int32),
        heads=np.concatenate([heads, np.full(sinks + sources, end)]).astype(np.int32),
        capacities=np.concatenate([np.full(len(tails), 3), np.full(sinks, 5), np.full(sources, 9)]).astype(
            np.int64
        ),
        costs=np.concatenate([costs, np.zeros(sinks), np.full(sources, 1000)]).astype(np.int64),
        supplies=np.concatenate([np.full(sources, 9), np.zeros(sinks), [-9 * sources]]).astype(np.int64),
    )


SMALL = random_problem(0, 5, 8, 4)


def misbehaving(code: int) -> FlowProblem:
    return random_problem(0, 5, 8, 4, first_cost=code)


class Restarts:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def restarts() -> Restarts:
    return Restarts()


@pytest.fixture
def solver(restarts: Restarts) -> Iterator[ProcessSolver]:
    solver = ProcessSolver(SCRIPTED, on_restart=restarts)
    yield solver
    solver.close()


def expected(problem: FlowProblem) -> list[int]:
    return OrToolsSolver().solve(problem).flows.tolist()


def test_it_answers_as_the_solver_in_this_process_does(solver, restarts):
    for seed, size in enumerate((1, 30, 5, 300, 2)):  # memory grows, and is reused for smaller problems
        problem = random_problem(seed, size, size + 3, min(size, 20))
        solution = solver.solve(problem, time_limit=SECONDS)
        assert solution.flows.tolist() == expected(problem)
        assert solution.seconds >= 0
    assert restarts.count == 0


def test_solutions_do_not_change_when_memory_is_reused(solver):
    first = solver.solve(SMALL)
    kept = first.flows.tolist()
    solver.solve(random_problem(9, 5, 8, 4))
    assert first.flows.tolist() == kept


def test_an_empty_problem(solver):
    nothing = np.zeros(0, dtype=np.int64)
    empty = FlowProblem(
        tails=nothing.astype(np.int32),
        heads=nothing.astype(np.int32),
        capacities=nothing,
        costs=nothing,
        supplies=nothing,
    )
    assert solver.solve(empty).flows.tolist() == []


def test_a_solve_is_cut_off_at_the_time_limit(solver, restarts):
    solver.solve(SMALL)
    before = solver.worker_pids()
    started = time.monotonic()
    with pytest.raises(SolverTimeoutError, match="time limit"):
        solver.solve(misbehaving(HANG), time_limit=0.2)
    assert time.monotonic() - started < stretch(5)
    assert restarts.count == 1
    assert solver.solve(SMALL).flows.tolist() == expected(SMALL)
    assert len(set(solver.worker_pids()) & set(before)) == 1, "the spare has taken over"


def test_a_killed_worker_is_replaced_unnoticed(solver, restarts):
    solver.solve(SMALL)
    os.kill(solver.worker_pids()[0], signal.SIGKILL)
    assert solver.solve(SMALL).flows.tolist() == expected(SMALL)
    assert restarts.count == 1


def test_a_problem_that_kills_workers_is_tried_twice(solver, restarts):
    with pytest.raises(SolverError, match="died"):
        solver.solve(misbehaving(DIE))
    assert restarts.count == 2
    assert solver.solve(SMALL).flows.tolist() == expected(SMALL)


def test_a_refusal_is_passed_on_and_costs_no_worker(solver, restarts):
    solver.solve(SMALL)
    before = set(solver.worker_pids())
    with pytest.raises(SolverError, match="refused: ünlösbar"):
        solver.solve(misbehaving(REFUSE))
    assert restarts.count == 0
    assert set(solver.worker_pids()) == before


def test_threads_solve_in_parallel(solver):
    me = psutil.Process()
    others = {child.pid for child in me.children()} - set(solver.worker_pids())
    problems = [random_problem(seed, 20, 30, 10) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        solutions = list(pool.map(solver.solve, problems))
    assert [each.flows.tolist() for each in solutions] == [expected(each) for each in problems]
    kept = set(solver.worker_pids())
    assert len(kept) == 2, "surplus workers have been retired"
    assert wait_for(lambda: {child.pid for child in me.children()} == others | kept), "and have ended"


def test_close_leaves_no_process_and_no_descriptor():
    me = psutil.Process()
    descriptors = me.num_fds()
    solver = ProcessSolver(SCRIPTED)
    solver.solve(SMALL)
    workers = [psutil.Process(pid) for pid in solver.worker_pids()]
    assert len(workers) == 2
    solver.close()
    solver.close()
    assert not any(worker.is_running() for worker in workers)
    assert me.num_fds() == descriptors
    with pytest.raises(SolverError, match="closed"):
        solver.solve(SMALL)


def test_close_ends_a_solve_in_progress(solver):
    faults: list[SolverError] = []

    def solve() -> None:
        try:
            solver.solve(misbehaving(HANG))
        except SolverError as error:
            faults.append(error)

    thread = threading.Thread(target=solve)
    thread.start()
    assert wait_for(lambda: len(solver.worker_pids()) == 2)
    solver.close()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert [str(fault) for fault in faults] == ["the solver is closed"]


PARENT = """
import sys, threading
from firmament.solvers.process_solver import ProcessSolver
from tests.firmament.solvers.scripted_solvers import HANG, SCRIPTED
from tests.firmament.solvers.test_process_solver import SMALL, misbehaving
solver = ProcessSolver(SCRIPTED)
solver.solve(SMALL)
threading.Thread(target=solver.solve, args=(misbehaving(HANG),), daemon=True).start()
print(*solver.worker_pids(), flush=True)
sys.stdin.read()
"""


def test_workers_end_when_their_parent_is_killed_even_in_mid_solve(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert parent.stdout is not None
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.kill()
    _, errors = parent.communicate(timeout=SECONDS)
    assert errors == ""

    def gone(worker: psutil.Process) -> bool:
        try:
            return worker.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    assert wait_for(lambda: all(gone(worker) for worker in workers))


def test_the_detour_costs_milliseconds(solver):
    problem = random_problem(3, 100, 1000, 990)
    assert len(problem.tails) > 100_000
    solver.solve(problem)
    overheads = []
    for _ in range(3):
        started = time.perf_counter()
        solution = solver.solve(problem)
        overheads.append(time.perf_counter() - started - solution.seconds)
    assert min(overheads) < 0.05
