"""Draws a small network: classes at the left, machines in the middle, the sink at the right.

Every arc with capacity is a line with its cost in points; parallel arcs are one line with all their costs. Arcs with
flow are thick lines, and state the amount of flow. The nodes that collect unscheduled tasks are in the middle, too,
above and below the machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from firmament.core.flow.column_generation import FlowOutcome
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.pictures import svg
from protos.conventions.number_formats import format_count

WIDTH = 760
TOP = 96
STEP = 84
"""Height between two machines, in pixels."""
_CLASS_X, _MACHINE_X, _SINK_X = 90, 420, 690
_CLASS_STRETCH = 1.5
"""Distance between classes, as a multiple of the distance between machines; the costs at classes' arcs need space."""
_NODE = (120, 34)
_WIDEST = 176
_MOST_COSTS = 4
"""The most costs that a line of parallel arcs states; if there are more, it states the first two and the last."""
_SPOTS = (0.36, 0.68, 0.52)
"""Where the costs are written on a class's arcs, as shares of the length that differ for neighbouring classes."""

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """Parallel arcs of the network between two nodes, drawn as one line."""

    tail: int
    head: int
    costs: tuple[int, ...]
    flow: int


def draw(outcome: FlowOutcome, classes: Sequence[str], machines: Sequence[str], title: str, note: str) -> str:
    """Return the SVG of a network with its flow; ``classes`` and ``machines`` are the labels of all rows."""
    places, height = _places(outcome)
    shown = lines(outcome)
    body = [
        svg.draw_text((16, 24), title, anchor="start"),
        svg.draw_text((16, 46), note, colour=svg.PALE, anchor="start"),
    ]
    for each in sorted(shown, key=lambda line: line.flow > 0):  # Thick lines are drawn over thin ones.
        colour = svg.PALE if each.flow == 0 else svg.LOST if _is_lost(outcome, each) else svg.FLOW
        body.append(
            svg.draw_line(
                places[each.tail], places[each.head], colour=colour, width=1 + 2 * min(each.flow, 3)
            )
        )
    body += [_label(outcome, each, places) for each in shown]
    network = outcome.network
    count = len(network.classes)
    for index, row in enumerate(network.classes.tolist()):
        waiting = int(network.problem.supplies[index])
        body += _node(places[index], f"{classes[row]}: {format_count(int(waiting), 'task')}")
        body += _node(places[count + index], f"{classes[row]}, left", colour=svg.LOST)
    for index, row in enumerate(network.machines.tolist()):
        body += _node(places[2 * count + index], machines[row])
    body += _node(places[len(places) - 1], "sink", width=70)
    return svg.make_document(WIDTH, height, f"{title}. {note}", body)


def lines(outcome: FlowOutcome) -> list[Line]:
    """Return the arcs that have capacity, with parallel arcs as one line, ordered by nodes."""
    problem = outcome.network.problem
    usable = np.flatnonzero(problem.capacities > 0)
    costs: dict[tuple[int, int], dict[int, None]] = {}
    flows: dict[tuple[int, int], int] = {}
    columns = (problem.tails[usable], problem.heads[usable], problem.costs[usable], outcome.flows[usable])
    for tail, head, cost, flow in zip(*(column.tolist() for column in columns), strict=True):
        costs.setdefault((tail, head), {})[cost] = None
        flows[tail, head] = flows.get((tail, head), 0) + flow
    return [Line(*ends, tuple(costs[ends]), flows[ends]) for ends in sorted(costs)]


def _places(outcome: FlowOutcome) -> tuple[list[Point], int]:
    """Return the position of each node, by its number in the network, and the height of the picture.

    networkx lays out the layers: classes, machines between the nodes of unscheduled tasks, and the sink.
    """
    network = outcome.network
    classes, machines = len(network.classes), len(network.machines)
    above = (classes + 1) // 2
    middle = [*range(classes, classes + above)]
    middle += [*range(2 * classes, 2 * classes + machines), *range(classes + above, 2 * classes)]
    layers = (
        (_CLASS_X, _CLASS_STRETCH, [*range(classes)]),
        (_MACHINE_X, 1.0, middle),
        (_SINK_X, 1.0, [2 * classes + machines]),
    )
    graph: nx.Graph[int] = nx.empty_graph(2 * classes + machines + 1)
    # One step of the layout is the distance of nodes in the middle layer, which has the most nodes.
    placed = nx.multipartite_layout(
        graph,
        subset_key={layer: nodes for layer, (_, _, nodes) in enumerate(layers)},
        scale=(len(middle) - 1) / 2,
    )
    lowest = TOP + STEP * (len(middle) - 1)
    places = {
        node: (x, round((TOP + lowest) / 2 + STEP * stretch * float(placed[node][1])))
        for x, stretch, nodes in layers
        for node in nodes
    }
    return [places[node] for node in range(len(places))], lowest + 48


def _is_lost(outcome: FlowOutcome, line: Line) -> bool:
    """Return whether a line leads to or from a node that collects unscheduled tasks."""
    count = len(outcome.network.classes)
    return any(count <= node < 2 * count for node in (line.tail, line.head))


def _label(outcome: FlowOutcome, line: Line, places: Sequence[Point]) -> str:
    """Return the text on a line, with its costs in points and its flow."""
    count = len(outcome.network.classes)
    (x, y), (to_x, to_y) = places[line.tail], places[line.head]
    spot = _SPOTS[line.tail % len(_SPOTS)] if line.tail < count else 0.5
    at = (round(x + (to_x - x) * spot), round(y + (to_y - y) * spot))
    costs = [f"{cost / COST_UNITS_PER_POINT:g}" for cost in line.costs]
    words = ", ".join(costs if len(costs) <= _MOST_COSTS else [*costs[:2], "…", costs[-1]])
    colour = svg.INK
    if line.flow:
        words += f" ({line.flow})"
        colour = svg.LOST if _is_lost(outcome, line) else svg.FLOW
    return svg.draw_text(at, words, colour=colour, plate=True)


def _node(at: Point, words: str, *, colour: str = svg.INK, width: int = _NODE[0]) -> list[str]:
    """Return a box with words, wider than usual if the words need it."""
    width = min(max(width, 7 * len(words) + 12), _WIDEST)
    return [svg.draw_box(at, (width, _NODE[1]), colour=colour), svg.draw_text(at, words, colour=colour)]
