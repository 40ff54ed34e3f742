"""Groups of a round whose tasks share out over a tree of machines by rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.rules import GroupSolver, Rule
from firmament.core.tree_solver.tree import Tree


@dataclass(frozen=True, slots=True)
class Group:
    """One group, all of whose waiting tasks are to be placed, or none.

    ``size``: its tasks, with those that are on machines of the tree already: ``held``, int64[L] over the tree's leaves;
    ``rules``: one per level; ``order``: int64[N], the problem class of each waiting task, neighbours next to each
    other; ``refused``: why it cannot be placed at all, empty if it can.
    """

    name: str
    size: int
    rules: tuple[Rule, ...]
    held: Int64
    order: Int64
    refused: str = ""


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """The tree of a round and its groups, by number of the gang.

    ``position``: int64[M], where each machine stands among the leaves, L for those outside of the tree; ``counted``:
    int64[A], columns of the resources by which the rooms of units are compared, empty for all.
    """

    tree: Tree
    solver: GroupSolver
    groups: Mapping[int, Group]
    position: Int64
    counted: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
