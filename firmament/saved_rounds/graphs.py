"""Turns networks of rounds into networkx graphs: for other tools, for residual graphs, and for a second solver.

Nodes have the numbers of ``network.json`` and of DIMACS text, and the attributes ``kind`` (class, unscheduled,
machine, sink), ``label`` and ``supply`` in tasks. Nodes of classes also have ``row``, their first class in the round.
Arcs have ``capacity`` and ``flow`` in tasks, ``cost`` in hundredths of a point per task, and ``block``. Several arcs
may join the same two nodes, so every graph is a ``networkx.MultiDiGraph``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Final, TypeAlias

import networkx as nx

from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.description import Description, name_classes

Graph: TypeAlias = "nx.MultiDiGraph[int]"

NETWORK_FILE: Final = "network.json"
_SEPARATOR: Final = ", "
"""Separates names in a label, because formats for graphs have no lists. No name of a machine or a task contains the
separator."""

CHECKED_ARCS: Final = 20_000
"""networkx' network simplex takes about 10 s for this many arcs; larger networks are not checked by it."""


def from_document(document: Mapping[str, Any], classes: Sequence[str]) -> Graph:
    """Return the graph of a ``network.json``, with its flow. ``classes``: the names of the classes, by row."""
    graph: Graph = nx.MultiDiGraph(cost=document["cost"], certified=document["certified"])
    for node in document["nodes"]:
        known = {"kind": node["kind"], "label": _describe_node(node, classes), "supply": node["supply"]}
        graph.add_node(node["id"], **known, **({"row": node["classes"][0]} if node.get("classes") else {}))
    for block, arcs in document["arcs"].items():
        for tail, head, capacity, cost, flow in arcs:
            graph.add_edge(tail, head, capacity=capacity, cost=cost, flow=flow, block=block)
    return graph


def from_dimacs(text: str) -> Graph:
    """Return the graph of DIMACS text that ``to_dimacs`` wrote, without flow; its labels are row numbers."""
    graph: Graph = nx.MultiDiGraph()
    block = ""
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "c" and words[0] == "node":
            named = words[2].replace("aggregator", "unscheduled")
            graph.add_node(int(words[1]), kind=named, label=" ".join(words[2:]), supply=0)
        elif kind == "c" and words[0] == "arcs":
            block = " ".join(words[1:])
        elif kind == "n":
            graph.nodes[int(words[0])]["supply"] = int(words[1])
        elif kind == "a":
            tail, head, _, capacity, cost = map(int, words)
            graph.add_edge(tail, head, capacity=capacity, cost=cost, block=block)
    return graph


def read_graph(files: Mapping[str, bytes], description: Description) -> Graph:
    """Return the graph of a saved round; raise ``SavedRoundError`` if the round has no readable network."""
    content = files.get(NETWORK_FILE)
    if content is None:
        raise SavedRoundError(
            f"{NETWORK_FILE} is missing: this round solved no network, or was saved in part"
        )
    try:
        return from_document(json.loads(content), name_classes(description))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise SavedRoundError(f"{NETWORK_FILE} is not a network; save the round again") from error


def write_graph(graph: Graph, form: str) -> bytes:
    """Return the graph as the content of a file: ``graphml``, ``gml`` or ``node-link`` (JSON)."""
    written = BytesIO()
    if form == "graphml":
        nx.write_graphml(graph, written)
    elif form == "gml":
        # GML identifies nodes by label; labels in this project need not be unique, so they are written under another
        # name.
        renamed: Graph = nx.MultiDiGraph(graph)
        for _, attributes in renamed.nodes(data=True):
            attributes["name"] = attributes.pop("label")
        nx.write_gml(renamed, written)
    else:
        written.write(json.dumps(nx.node_link_data(graph, edges="edges")).encode() + b"\n")
    return written.getvalue()


def list_names(graph: Graph, node: int) -> list[str]:
    """Return the names of the classes or machines for which a node stands."""
    label: str = graph.nodes[node]["label"]
    return label.split(_SEPARATOR)


def list_nodes(graph: Graph, kind: str) -> list[int]:
    """Return the graph's nodes of one kind, such as machines, by their numbers in the graph."""
    return [node for node, known in graph.nodes(data=True) if known["kind"] == kind]


def find_least_cost(graph: Graph) -> int | None:
    """Return the least cost of any flow, by networkx' network simplex; None if the graph has too many arcs."""
    if graph.number_of_edges() > CHECKED_ARCS:
        return None
    demands: nx.DiGraph[Any] = nx.DiGraph()
    demands.add_nodes_from((node, {"demand": -known["supply"]}) for node, known in graph.nodes(data=True))
    for tail, head, number, arc in graph.edges(keys=True, data=True):
        # networkx' network simplex accepts no parallel arcs, so each arc is split in two by a node of its own.
        middle = (tail, head, number)
        demands.add_edge(tail, middle, capacity=arc["capacity"], weight=arc["cost"])
        demands.add_edge(middle, head, capacity=arc["capacity"], weight=0)
    return int(nx.min_cost_flow_cost(demands))


def _describe_node(node: Mapping[str, Any], classes: Sequence[str]) -> str:
    if node["kind"] == "sink":
        return "sink"
    return _SEPARATOR.join(node.get("machines") or [classes[row] for row in node["classes"]])
