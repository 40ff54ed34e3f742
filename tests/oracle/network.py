"""The whole flow network of a placement problem, arc by arc, and two independent programs that solve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import networkx as nx
from ortools.graph.python import min_cost_flow

from tests.oracle.placement import PlainProblem

Node: TypeAlias = Any
"""Anything hashable."""

SINK: Node = ("sink",)


@dataclass(frozen=True)
class Arc:
    """One arc between named nodes."""

    tail: Node
    head: Node
    capacity: int
    cost: int


def full_network(problem: PlainProblem, penalties: list[list[int]]) -> tuple[list[Arc], dict[Node, int]]:
    """All arcs of the network, nothing pruned, and what each node supplies."""
    arcs = []
    supply: dict[Node, int] = {SINK: -sum(map(sum, problem.waiting))}
    for cls in problem.active:
        supply["class", cls] = sum(problem.waiting[cls])
        for bucket, count in enumerate(problem.waiting[cls]):
            arcs.append(Arc(("class", cls), SINK, count, penalties[cls][bucket]))
        for machine in problem.machines:
            units = problem.units(cls, machine)
            if units:
                cost = problem.cost[problem.shape[cls]][machine]
                arcs.append(Arc(("class", cls), ("machine", machine), units, cost))
    for machine in problem.machines:
        room = problem.room(machine) if problem.active else 0
        arcs += [Arc(("machine", machine), SINK, 1, problem.crowding(machine, nth)) for nth in range(room)]
    return arcs, supply


def cost_by_ortools(arcs: list[Arc], supply: dict[Node, int]) -> int:
    """Least cost by OR-Tools, one arc at a time."""
    solver = min_cost_flow.SimpleMinCostFlow()
    number = {node: index for index, node in enumerate(nodes_of(arcs, supply))}
    for arc in arcs:
        solver.add_arc_with_capacity_and_unit_cost(number[arc.tail], number[arc.head], arc.capacity, arc.cost)
    for node, amount in supply.items():
        solver.set_node_supply(number[node], amount)
    assert solver.solve() == solver.OPTIMAL
    return solver.optimal_cost()


def cost_by_networkx(arcs: list[Arc], supply: dict[Node, int]) -> int:
    """Least cost by networkx; a node in the middle of each arc keeps parallel ones apart."""
    graph: nx.DiGraph = nx.DiGraph()
    for node in nodes_of(arcs, supply):
        graph.add_node(node, demand=-supply.get(node, 0))
    for index, arc in enumerate(arcs):
        graph.add_edge(arc.tail, ("arc", index), capacity=arc.capacity, weight=arc.cost)
        graph.add_edge(("arc", index), arc.head, capacity=arc.capacity, weight=0)
    return int(nx.min_cost_flow_cost(graph))


def nodes_of(arcs: list[Arc], supply: dict[Node, int]) -> list[Node]:
    """All nodes, each once, in order of appearance."""
    return list(dict.fromkeys([*supply, *(node for arc in arcs for node in (arc.tail, arc.head))]))


def unbalanced(arcs: list[Arc], supply: dict[Node, int], flows: list[int]) -> list[str]:
    """What is wrong with a flow: arcs outside their capacity, nodes that gain or lose."""
    faults = []
    net = dict.fromkeys(nodes_of(arcs, supply), 0)
    for arc, flow in zip(arcs, flows, strict=True):
        if not 0 <= flow <= arc.capacity:
            faults.append(f"{arc}: flow {flow}")
        net[arc.tail] += flow
        net[arc.head] -= flow
    faults.extend(
        f"node {node}: sends {sent}, supplies {supply.get(node, 0)}"
        for node, sent in net.items()
        if sent != supply.get(node, 0)
    )
    return faults


def slackness_faults(arcs: list[Arc], flows: list[int], price: dict[Node, int]) -> list[str]:
    """Complementary slackness, which proves a flow optimal: at cost + price(head) - price(tail), an arc with room
    must not gain and an arc in use must not lose. A node without a price needs some price that suits all its arcs
    (no arc joins two such nodes).
    """
    faults = []
    least: dict[Node, int] = {}
    most: dict[Node, int] = {}
    for arc, flow in zip(arcs, flows, strict=True):
        has_room, in_use = flow < arc.capacity, flow > 0
        if arc.tail in price and arc.head in price:
            reduced = arc.cost + price[arc.head] - price[arc.tail]
            if (has_room and reduced < 0) or (in_use and reduced > 0):
                faults.append(f"{arc}: flow {flow} at reduced cost {reduced}")
        elif arc.head in price:
            value = arc.cost + price[arc.head]
            _bound(arc.tail, value, above=has_room, below=in_use, least=least, most=most)
        else:
            value = price[arc.tail] - arc.cost
            _bound(arc.head, value, above=in_use, below=has_room, least=least, most=most)
    faults += [f"no price suits node {node}" for node in least if least[node] > most.get(node, least[node])]
    return faults


def _bound(
    node: Node, value: int, *, above: bool, below: bool, least: dict[Node, int], most: dict[Node, int]
) -> None:
    """Note that a node's price must be at most (``above``) or at least (``below``) ``value``."""
    if above:
        most[node] = min(most.get(node, value), value)
    if below:
        least[node] = max(least.get(node, value), value)
