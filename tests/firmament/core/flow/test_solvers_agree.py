"""The two solvers find flows of the same cost, and the flows are flows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.comparators.networkx_solver import NetworkxSolver
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.dimacs import to_dimacs
from firmament.core.flow.network.network import build_network, compute_unscheduled_penalties, dearest_path
from firmament.core.flow.residual import Residual
from firmament.solvers.base import FlowProblem, Solver
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.network import cost_by_ortools, unbalanced
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, arcs_of, placement_problem

SOLVERS: tuple[Solver, ...] = (OrToolsSolver(), NetworkxSolver())


def flow_problem(seed: int, nodes: int, arcs: int) -> FlowProblem:
    """Any network: parallel arcs, negative costs, cycles; dear direct arcs make it feasible."""
    rnd = random.Random(seed)
    sent = [rnd.randint(0, 6) for _ in range(nodes - 1)]
    rows = [
        (*rnd.sample(range(nodes), 2), rnd.choice([0, 1, 3, 8]), rnd.randint(-9, 30)) for _ in range(arcs)
    ]
    rows += [(node, nodes - 1, amount, 10_000) for node, amount in enumerate(sent)]
    tails, heads, capacities, costs = zip(*rows, strict=True)
    return FlowProblem(
        tails=np.array(tails, dtype=np.int32),
        heads=np.array(heads, dtype=np.int32),
        capacities=np.array(capacities, dtype=np.int64),
        costs=np.array(costs, dtype=np.int64),
        supplies=np.array([*sent, -sum(sent)], dtype=np.int64),
    )


def check_agreement(problem: FlowProblem) -> None:
    arcs, supply = arcs_of(problem)
    costs = []
    for solver in SOLVERS:
        flows = solver.solve(problem).flows.tolist()
        assert unbalanced(arcs, supply, flows) == []
        costs.append(sum(arc.cost * flow for arc, flow in zip(arcs, flows, strict=True)))
    assert costs == [cost_by_ortools(arcs, supply)] * 2


@settings(max_examples=examples(80))
@given(seed=SEEDS, nodes=st.integers(2, 9), arcs=st.integers(0, 30))
def test_on_any_network(seed: int, nodes: int, arcs: int):
    check_agreement(flow_problem(seed, nodes, arcs))


@settings(max_examples=examples(60))
@given(seed=SEEDS, classes=st.integers(1, 5), machines=st.integers(1, 6))
def test_on_networks_of_placement_problems(seed: int, classes: int, machines: int):
    residual = Residual(placement_problem(seed, classes, machines))
    allowed = [
        np.flatnonzero(residual.find_fitting(shape))
        for shape in residual.problem.shape[residual.active()].tolist()
    ]
    waiting = residual.active().tolist()
    columns = ArcColumns.join(
        [ArcColumns(np.full(len(rows), cls), rows) for cls, rows in zip(waiting, allowed, strict=True)],
        machines,
    )
    if not len(columns):
        return
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    network = build_network(residual, columns, penalties, np.full(machines, 3))
    check_agreement(network.problem)
    check_dimacs(to_dimacs(network), network.problem)


def check_dimacs(text: str, problem: FlowProblem) -> None:
    """The exported text says the same as the arrays."""
    lines = [line.split() for line in text.splitlines()]
    assert [line[1:] for line in lines if line[0] == "p"] == [
        ["min", str(len(problem.supplies)), str(len(problem.tails))]
    ]
    supplies = {int(line[1]) - 1: int(line[2]) for line in lines if line[0] == "n"}
    assert supplies == {node: n for node, n in enumerate(problem.supplies.tolist()) if n}
    arcs = [tuple(map(int, line[1:])) for line in lines if line[0] == "a"]
    columns = (problem.tails + 1, problem.heads + 1, problem.capacities, problem.costs)
    assert arcs == [
        (tail, head, 0, capacity, cost)
        for tail, head, capacity, cost in zip(*(column.tolist() for column in columns), strict=True)
    ]


@pytest.mark.parametrize("solver", SOLVERS, ids=["ortools", "networkx"])
def test_equal_problems_give_equal_flows(solver: Solver):
    problem = flow_problem(seed=7, nodes=8, arcs=30)
    flows = [solver.solve(problem).flows.tolist() for _ in range(3)]
    assert flows[0] == flows[1] == flows[2]
