"""Writes flow networks as DIMACS text, which tools for min-cost flows read."""

from __future__ import annotations

import numpy as np

from firmament.core.flow.network.network import Network

ARC_BLOCKS = ("class to machine", "class to unscheduled aggregator", "aggregator to sink", "machine to sink")


def to_dimacs(network: Network) -> str:
    """Return lines ``p min NODES ARCS``, ``n ID EXCESS`` of sources and sinks, ``a TAIL HEAD LOW CAP COST``.

    Nodes count from 1. Lines of comments name the kind of each node and of each block of arcs.
    """
    problem = network.problem
    lines = [
        "c classes, their unscheduled aggregators, machines, and the sink",
        f"p min {len(problem.supplies)} {len(problem.tails)}",
    ]
    node = 1
    for kind, rows in (
        ("class", network.classes),
        ("unscheduled aggregator of class", network.classes),
        ("machine", network.machines),
    ):
        lines.extend(f"c node {node + index} {kind} {row}" for index, row in enumerate(rows.tolist()))
        node += len(rows)
    lines.append(f"c node {node} sink")
    sources = np.flatnonzero(problem.supplies)
    lines.extend(f"n {index + 1} {problem.supplies[index]}" for index in sources.tolist())
    for name, block in zip(ARC_BLOCKS, network.blocks, strict=True):
        lines.append(f"c arcs {name}")
        columns = (
            problem.tails[block] + 1,
            problem.heads[block] + 1,
            problem.capacities[block],
            problem.costs[block],
        )
        arcs = zip(*(column.tolist() for column in columns), strict=True)
        lines.extend(f"a {tail} {head} 0 {capacity} {cost}" for tail, head, capacity, cost in arcs)
    return "\n".join(lines) + "\n"
