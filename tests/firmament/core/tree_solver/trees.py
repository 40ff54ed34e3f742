"""Trees for tests: full ones by their degrees, small ones by their leaves' room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.solver import ExactSolver
from firmament.core.tree_solver.tree import Rule, Shortage, Tree, build_tree


def full_tree(levels: Sequence[str], degrees: Sequence[int]) -> Tree:
    """Every unit of a level has as many children as every other."""
    paths = product(
        *(
            [f"{name}-{index}" for index in range(degree)]
            for name, degree in zip(levels, degrees, strict=True)
        )
    )
    return build_tree(levels, {path: row for row, path in enumerate(paths)})


def placed(tree: Tree, slots: Int64, size: int, *rules: Rule, **more: Any) -> Int64:
    """The answer of the solver, which has to be a placement."""
    answer = asked(tree, slots, size, *rules, **more)
    assert not isinstance(answer, Shortage), answer.message
    assert answer.sum() == size
    return answer


def asked(
    tree: Tree,
    slots: Int64,
    size: int,
    *rules: Rule,
    cost: Int64 | None = None,
    held: Int64 | None = None,
    counted: Int64 | None = None,
    **choice: Any,
) -> Int64 | Shortage:
    """The answer of the solver, without costs and pods that are there unless they are given."""
    nothing = np.zeros(tree.leaves, dtype=np.int64)
    return ExactSolver(**choice).place(
        tree,
        slots,
        size,
        rules,
        nothing if cost is None else cost,
        nothing if held is None else held,
        counted,
    )


def two_levels(
    room: Mapping[str, Mapping[str, int]], levels: Sequence[str] = ("rack", "node")
) -> tuple[Tree, Int64]:
    """Racks with nodes and their slots, names in any order."""
    leaves = [((rack, node), slots) for rack, nodes in room.items() for node, slots in nodes.items()]
    tree = build_tree(levels, {path: row for row, (path, _) in enumerate(leaves)})
    return tree, np.array([slots for _, slots in leaves], dtype=np.int64)[tree.rows]


def shown(tree: Tree, answer: Int64) -> dict[str, dict[str, int]]:
    """The used leaves of a tree of two levels, by rack."""
    used: dict[str, dict[str, int]] = {}
    for leaf in np.flatnonzero(answer).tolist():
        rack, node = tree.leaf_path(leaf)
        used.setdefault(rack, {})[node] = int(answer[leaf])
    return used


def per_unit(tree: Tree, answer: Int64, level: int) -> list[int]:
    """The shares of the used units of a level, largest first."""
    return sorted((share for share in tree.sums(answer)[level].tolist() if share), reverse=True)
