"""Measures the solver of groups on trees: time of one group by its rules and the shape of the tree; and rounds."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

from benchmarks.environment import environment
from benchmarks.rounds.features.topology_rounds import RoundOptions, measure_rounds
from cost_models.interface import Int64
from firmament.core.tree_solver.solver import ExactSolver
from firmament.core.tree_solver.tree import Rule, Shortage, Tree, build_tree

PACK, SPREAD = Rule("pack"), Rule("spread")
LEVELS = ("zone", "row", "rack", "server")
DEGREES = (10, 10, 20)
"""Rows per zone, racks per row, servers per rack; there are as many zones as needed."""


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """A measurement of topology groups."""

    nodes: int = 10_000
    """Nodes of the large tree, approximately."""
    pods: int = 1000
    """Number of pods of the group."""
    runs: int = 5
    """Number of runs per case, after a warm-up."""
    room: int = 8
    """Most pods per server; each server gets a random number from 0 on."""
    groups: int = 200
    """Groups in measured rounds, see `RoundOptions`."""
    others: int = 5000
    """Other pods in measured rounds, see `RoundOptions`."""
    seed: int = 1
    """Seed of the draws."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One call of the solver."""

    name: str
    """Name of the case."""
    tree: Tree
    """The tree."""
    slots: Int64
    """int64: pods that each server can take."""
    size: int
    """Number of pods of the group."""
    rules: Sequence[Rule]
    """Rules by level."""
    cost: Int64
    """int64, cost of a pod on each server."""
    held: Int64
    """int64: pods of the group on each server already."""


def measure_topology(options: TopologyOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure each case; returns what ``-o json`` prints. Those of the solver are processor time of this process."""
    cases = []
    for problem in _problems(options):
        progress(problem.name)
        cases.append(_measure(problem, options.runs))
    rounds = RoundOptions(
        options.nodes, options.pods, options.groups, options.others, options.runs, options.seed
    )
    return {
        "kind": "topology",
        "environment": environment(),
        "options": asdict(options),
        "cases": cases,
        "rounds": measure_rounds(rounds, progress=progress),
    }


def _measure(problem: Problem, runs: int) -> dict[str, object]:
    solver = ExactSolver()
    seconds = []
    for number in range(runs + 1):
        began = time.process_time()
        answer = solver.place(
            problem.tree, problem.slots, problem.size, problem.rules, problem.cost, problem.held
        )
        if number:
            seconds.append(time.process_time() - began)
    placed = not isinstance(answer, Shortage)
    return {
        "name": problem.name,
        "leaves": problem.tree.leaves,
        "pods": problem.size,
        "seconds": statistics.median(seconds),
        "slowest_seconds": max(seconds),
        "placed": placed,
        "used": []
        if isinstance(answer, Shortage)
        else [int((each > 0).sum()) for each in problem.tree.sums(answer)],
    }


def _problems(options: TopologyOptions) -> Iterator[Problem]:
    """Yield the cases: soft and strict rules, room for one member only, other shapes of trees."""
    rng = np.random.default_rng(options.seed)
    zones = max(1, round(options.nodes / math.prod(DEGREES)))
    large = _full_tree(LEVELS, (zones, *DEGREES))

    def problem(
        name: str, tree: Tree, size: int, rules: Sequence[Rule], slots: Int64 | None = None
    ) -> Problem:
        room = rng.integers(0, options.room + 1, tree.leaves) if slots is None else slots
        nobody = np.zeros(tree.leaves, dtype=np.int64)
        return Problem(name, tree, room, size, rules, rng.integers(0, 200, tree.leaves), nobody)

    idle = np.full(large.leaves, options.room)
    yield problem("pack everywhere", large, options.pods, [PACK] * 4)
    yield problem("pack everywhere, idle cluster", large, options.pods, [PACK] * 4, idle)
    yield problem("spread everywhere", large, options.pods, [SPREAD] * 4)
    two = Rule("spread", partitions=2)
    yield problem("2 rows, packed, 4 per server", large, options.pods, [PACK, two, PACK, Rule(factor=4)])
    ranges = [PACK, PACK, Rule("pack", least=20, most=40), Rule("spread", least=2, most=4)]
    yield problem("20-40 per rack, 2-4 per server", large, options.pods, ranges)
    yield problem("5-8 per server", large, options.pods, [PACK, PACK, PACK, Rule(least=5, most=8)])
    yield _replacement(problem("one member replaced", large, options.pods, [SPREAD, PACK, PACK, PACK]))
    middle = _full_tree(("zone", "rack", "server"), (8, 32, 32))
    yield problem("8,192 servers, pack", middle, 2 * options.pods + 48, [PACK] * 3)
    yield problem("8,192 servers, spread", middle, 2 * options.pods + 48, [SPREAD] * 3)
    flat = _full_tree(("node",), (options.nodes,))
    yield problem("no tree, pack", flat, options.pods, [PACK])


def _replacement(problem: Problem) -> Problem:
    """Return the problem when all pods of the group run except one."""
    answer = ExactSolver().place(
        problem.tree, problem.slots, problem.size, problem.rules, problem.cost, problem.held
    )
    if isinstance(answer, Shortage):
        return problem
    held = answer.copy()
    held[np.flatnonzero(held)[0]] -= 1
    return Problem(
        problem.name, problem.tree, problem.slots - held, problem.size, problem.rules, problem.cost, held
    )


def _full_tree(levels: Sequence[str], degrees: Sequence[int]) -> Tree:
    """Return a tree in which all units of a level have equally many children."""
    names = [
        [f"{level}-{index}" for index in range(degree)] for level, degree in zip(levels, degrees, strict=True)
    ]
    return build_tree(levels, {path: row for row, path in enumerate(product(*names))})
