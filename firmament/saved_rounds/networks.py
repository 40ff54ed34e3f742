"""Writes a round's network with its flow as DIMACS and JSON, for people and tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from firmament.core.flow.column_generation import FlowOutcome
from firmament.core.flow.network.dimacs import ARC_BLOCKS, to_dimacs
from firmament.core.flow.reduction import AlikeMachines


def encode_network(
    outcome: FlowOutcome,
    alike: AlikeMachines | None,
    classes: Sequence[Sequence[int]] | None,
    machine_names: Sequence[str],
) -> dict[str, bytes]:
    """Return ``network.dimacs``, ``network.json`` and ``flow.dimacs``; nodes have the same numbers in all three."""
    return {
        "network.dimacs": to_dimacs(outcome.network).encode(),
        "network.json": (json.dumps(_document(outcome, alike, classes, machine_names)) + "\n").encode(),
        "flow.dimacs": _flow_text(outcome).encode(),
    }


def _flow_text(outcome: FlowOutcome) -> str:
    """Return the flow in DIMACS' format for solutions: ``s COST``, then ``f TAIL HEAD FLOW`` for each arc with flow."""
    problem = outcome.network.problem
    used = np.flatnonzero(outcome.flows)
    columns = (problem.tails[used] + 1, problem.heads[used] + 1, outcome.flows[used])
    arcs = zip(*(column.tolist() for column in columns), strict=True)
    lines = [f"s {outcome.bound}", *(f"f {tail} {head} {flow}" for tail, head, flow in arcs)]
    return "\n".join(lines) + "\n"


def _document(
    outcome: FlowOutcome,
    alike: AlikeMachines | None,
    classes: Sequence[Sequence[int]] | None,
    machine_names: Sequence[str],
) -> dict[str, Any]:
    """Return ``network.json``: nodes with kind, names and supply, and arcs.

    Arcs are rows of ``arcColumns``, in blocks as in DIMACS. A machine node names all machines for which it stands,
    because alike machines share a node. A class node names all classes of the round whose tasks it contains
    (``classes``; if that is None, the class of its own row). With rules between tasks, and gangs, equal classes share
    a node, and a class may have several nodes.
    """
    network = outcome.network
    problem = network.problem
    held = [[row] if classes is None else list(classes[row]) for row in network.classes.tolist()]
    nodes: list[dict[str, Any]] = [{"kind": "class", "classes": rows} for rows in held]
    nodes += [{"kind": "unscheduled", "classes": rows} for rows in held]
    nodes += [
        {"kind": "machine", "machines": [machine_names[each] for each in _members(row, alike)]}
        for row in network.machines.tolist()
    ]
    nodes.append({"kind": "sink"})
    for number, (node, supply) in enumerate(zip(nodes, problem.supplies.tolist(), strict=True), 1):
        node.update(id=number, supply=supply)
    return {
        "cost": outcome.bound,
        "certified": outcome.certified,
        "nodes": nodes,
        "arcColumns": ["tail", "head", "capacity", "cost", "flow"],
        "arcs": {name: _arcs(outcome, block) for name, block in zip(ARC_BLOCKS, network.blocks, strict=True)},
    }


def _arcs(outcome: FlowOutcome, block: slice) -> list[list[int]]:
    problem = outcome.network.problem
    columns = (
        problem.tails[block] + 1,
        problem.heads[block] + 1,
        problem.capacities[block],
        problem.costs[block],
        outcome.flows[block],
    )
    return np.stack([column.astype(np.int64) for column in columns], axis=1).tolist()


def _members(row: int, alike: AlikeMachines | None) -> list[int]:
    """Return the rows of the machines for which a machine row of the network stands."""
    if alike is None:
        return [row]
    return alike.members[alike.first[row] : alike.first[row + 1]].tolist()
