"""The text form of a network, read back by a reader of its own."""

from __future__ import annotations

import networkx as nx
import pytest

from firmament.core.scheduler import Scheduler
from tests.support.core import machine, scheduler, task_class, tasks, uids


def parsed(text: str) -> tuple[int, dict[int, int], list[tuple[int, int, int, int, int]]]:
    """Number of nodes, supply by node, and arcs (tail, head, low, capacity, cost) of a DIMACS text."""
    nodes = arcs = 0
    supplies: dict[int, int] = {}
    found: list[tuple[int, int, int, int, int]] = []
    for line in text.splitlines():
        kind, *rest = line.split()
        match kind:
            case "c":
                continue
            case "p":
                assert rest[0] == "min"
                nodes, arcs = int(rest[1]), int(rest[2])
            case "n":
                supplies[int(rest[0])] = int(rest[1])
            case "a":
                tail, head, low, capacity, cost = map(int, rest)
                found.append((tail, head, low, capacity, cost))
            case _:
                pytest.fail(f"not a DIMACS line: {line}")
    assert len(found) == arcs
    return nodes, supplies, found


@pytest.fixture
def solved() -> Scheduler:
    """A round in which some tasks stay pending."""
    core = scheduler(
        *(machine(f"m{index}", cpu=1_000) for index in range(4)),
        tasks(1, *uids("a", 9), content=task_class(cpu=300)),
        tasks(2, *uids("b", 9), content=task_class(cpu=500)),
    )
    core.run_round()
    return core


def test_the_text_is_well_formed_and_balanced(solved: Scheduler):
    nodes, supplies, arcs = parsed(solved.last_network_dimacs())
    assert sum(supplies.values()) == 0
    assert min(supplies.values()) == -sum(amount for amount in supplies.values() if amount > 0)
    for tail, head, low, capacity, _ in arcs:
        assert 1 <= tail <= nodes
        assert 1 <= head <= nodes
        assert low == 0
        assert capacity >= 0
    assert "c node 1 class 0" in solved.last_network_dimacs().splitlines()
    assert f"c node {nodes} sink" in solved.last_network_dimacs().splitlines()


def test_another_solver_can_solve_it(solved: Scheduler):
    nodes, supplies, arcs = parsed(solved.last_network_dimacs())
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from((node, {"demand": -supplies.get(node, 0)}) for node in range(1, nodes + 1))
    for tail, head, _, capacity, cost in arcs:
        graph.add_edge(tail, head, capacity=capacity, weight=cost)
    cost, flow = nx.network_simplex(graph)
    assert cost > 0
    assert sum(sum(parallel.values()) for parallel in flow[1].values()) == supplies[1]
