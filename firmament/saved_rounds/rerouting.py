"""Finds which tasks must move so that a task can go to a machine: a shortest path in a saved residual graph.

A residual graph has two sorts of arcs. For every further task that an arc of the network can carry, the residual
graph has an arc at its cost. For every task that can be taken back, the residual graph has a reversed arc at minus
its cost. A task goes to a machine by the arc to the machine. The shortest path from the machine back to where the
task came from says which tasks move away, one after the other, and what that costs (Ahuja, Magnanti, Orlin: Network
Flows, chapter 9). The network counts tasks, not amounts, so the answer is the cheapest by the network's own rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import networkx as nx
import numpy as np

from firmament.core.flow.problem import COST_UNITS_PER_POINT, PlacementProblem
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.graphs import Graph, list_names, list_nodes
from firmament.saved_rounds.saving import SavedRound

WAITING: Final = "waiting"
COMPLETED_ARCS: Final = 200_000
"""The most pairs of class and machine for which missing arcs are added to the network before a path is searched."""

ResidualGraph: TypeAlias = "nx.DiGraph[int]"


@dataclass(frozen=True, slots=True)
class ReroutedTask:
    """A task of class ``task`` moves from ``source`` to ``target``: a machine, several alike machines, or waiting."""

    task: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Rerouting:
    """The cheapest way to have a task of a class on a machine."""

    moves: tuple[ReroutedTask, ...]
    """All tasks that move, the requested one first; empty if a task of its class is on the machine already."""
    cost: int
    """Units by which the cost of the round grows; 0 if another optimum has a task of the class on the machine."""
    exact: bool
    """Whether all possible arcs were considered; if not, a cheaper way may exist."""


def find_rerouting(saved: SavedRound, graph: Graph, task: str, machine: str) -> Rerouting | None:
    """Return how a task of the class named ``task`` gets to ``machine`` at least cost; None if that is impossible.

    ``graph``: the graph of the saved network; arcs that the network lacks are added to the graph. Raise
    ``SavedRoundError`` for a class or a machine that the round does not know.
    """
    source = _find_class(graph, task)
    row = _find_row(saved, machine)
    target = _find_machine(graph, saved, row)
    problem = saved.problem
    if graph.has_edge(source, target) and any(arc["flow"] > 0 for arc in graph[source][target].values()):
        return Rerouting((), 0, exact=True)
    exact = problem.classes * problem.machines <= COMPLETED_ARCS
    if exact:
        _add_left_out_arcs(graph, saved)
    else:
        _add_arc(graph, problem, source, target, row)
    if not graph.has_edge(source, target):
        return None
    first = min(arc["cost"] for arc in graph[source][target].values())
    residual = _build_residual(graph)
    try:
        path = nx.bellman_ford_path(residual, target, source, "cost")
    except nx.NetworkXNoPath:
        return None
    cost = first + sum(residual[tail][head]["cost"] for tail, head in pairwise(path))
    return Rerouting(tuple(_read_moves(graph, [source, *path])), cost, exact)


def describe_rerouting(found: Rerouting | None, task: str, machine: str) -> list[str]:
    """Return lines that describe a rerouting to people."""
    if found is None:
        return [f"No task of {task} can go to {machine}: a rule refuses it, or nothing there can move."]
    if not found.moves:
        return [f"A task of {task} goes to {machine} already."]
    others = len(found.moves) - 1
    price = "costs no more"
    if found.cost:
        bound = "" if found.exact else "at most "
        price = f"costs {bound}{found.cost / COST_UNITS_PER_POINT:g} points more"
    only = "" if others == 0 else f" if {others} {'other moves' if others == 1 else 'others move'}"
    return [
        f"A task of {task} goes to {machine}{only}, and the round {price}:",
        *(f"  {move.task}: from {move.source} to {move.target}" for move in found.moves),
    ]


def _find_class(graph: Graph, task: str) -> int:
    nodes = list_nodes(graph, "class")
    for node in nodes:
        if task in list_names(graph, node):
            return node
    listed = ", ".join(sorted({name for node in nodes for name in list_names(graph, node)})[:8])
    raise SavedRoundError(f"no task class {task!r} waited in the network of this round; it has {listed}")


def _find_row(saved: SavedRound, machine: str) -> int:
    try:
        return saved.description.machines.index(machine)
    except ValueError:
        known = len(saved.description.machines)
        raise SavedRoundError(f"machine {machine!r} is not among the {known} of this round") from None


def _find_machine(graph: Graph, saved: SavedRound, row: int) -> int:
    """Return the node of a machine; if the network has none for it, add one with capacity for one task."""
    name = saved.description.machines[row]
    for node in list_nodes(graph, "machine"):
        if name in list_names(graph, node):
            return node
    node = graph.number_of_nodes() + 1
    [sink] = list_nodes(graph, "sink")
    graph.add_node(node, kind="machine", label=name, supply=0)
    graph.add_edge(node, sink, capacity=1, cost=0, flow=0, block="machine to sink")
    return node


def _add_left_out_arcs(graph: Graph, saved: SavedRound) -> None:
    """Give each class an arc to every machine node that it may use; column generation leaves most of these arcs out."""
    rows = {name: row for row, name in enumerate(saved.description.machines)}
    machines = [(node, rows[list_names(graph, node)[0]]) for node in list_nodes(graph, "machine")]
    for source in list_nodes(graph, "class"):
        for target, row in machines:
            _add_arc(graph, saved.problem, source, target, row)


def _add_arc(graph: Graph, problem: PlacementProblem, source: int, target: int, row: int) -> None:
    """Add the arc of a class to the machine in row ``row``, if the network lacks it and the class may go there."""
    cls = graph.nodes[source]["row"]
    if graph.has_edge(source, target) or not _may_use(problem, cls, row):
        return
    cost = int(problem.cost[problem.shape[cls], row])
    graph.add_edge(source, target, capacity=1, cost=cost, flow=0, block="class to machine")


def _may_use(problem: PlacementProblem, cls: int, row: int) -> bool:
    """Return whether a machine is feasible for a class, within its pins, and could take a task before the round."""
    shape = int(problem.shape[cls])
    pinned = cls not in problem.pins or row in problem.pins[cls]
    fits = np.all(problem.requests[shape] <= np.maximum(problem.free[row], 0))
    return bool(problem.feasible[shape, row]) and pinned and bool(fits)


def _build_residual(graph: Graph) -> ResidualGraph:
    residual: ResidualGraph = nx.DiGraph()
    for tail, head, arc in graph.edges(data=True):
        if arc["flow"] < arc["capacity"]:
            _add_cheapest(residual, tail, head, arc["cost"])
        if arc["flow"] > 0:
            _add_cheapest(residual, head, tail, -arc["cost"])
    return residual


def _add_cheapest(residual: ResidualGraph, tail: int, head: int, cost: int) -> None:
    if not residual.has_edge(tail, head) or cost < residual[tail][head]["cost"]:
        residual.add_edge(tail, head, cost=cost)


def _read_moves(graph: Graph, cycle: list[int]) -> list[ReroutedTask]:
    """Return the moves of tasks along a cycle of nodes, which begins and ends with the requested task's class."""

    def name(node: int) -> str:
        known = graph.nodes[node]
        return WAITING if known["kind"] == "unscheduled" else str(known["label"])

    moves = [ReroutedTask(name(cycle[0]), name(cycle[-2]), name(cycle[1]))]
    moves += [
        ReroutedTask(name(node), name(before), name(after))
        for before, node, after in zip(cycle[1:], cycle[2:], cycle[3:], strict=False)
        if graph.nodes[node]["kind"] == "class"
    ]
    return moves
