"""Groups of a round whose tasks share out over a tree of machines by rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.tree_solver.nested.trees import NO_DOMAINS, NestedDomains, NestedGroup
from firmament.core.tree_solver.solver import ExactSolver
from firmament.core.tree_solver.tree import Rule, Tree


@dataclass(frozen=True, slots=True)
class TreeGroup:
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


AnyGroup: TypeAlias = TreeGroup | NestedGroup
"""A group by levels of one tree of machines, or a tree of groups that name labels."""


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """The tree of a round and its groups, by number of the gang."""

    tree: Tree
    """The tree of machines."""
    solver: ExactSolver
    """Counts how many tasks of a group go where in it."""
    groups: Mapping[int, TreeGroup]
    """Groups that share out over it."""
    position: Int64
    """int64[M], where each machine stands among the leaves, L for those outside of the tree."""
    counted: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[A], columns of the resources by which the rooms of units are compared, empty for all."""
    domains: NestedDomains = NO_DOMAINS
    """The domains of the labels that trees of groups name."""
    nested: Mapping[int, NestedGroup] = field(default_factory=dict)
    """Trees of groups."""

    @property
    def every(self) -> Mapping[int, AnyGroup]:
        """All groups, by number of the gang."""
        return {**self.groups, **self.nested} if self.nested else self.groups

    def find_grouped(self, gang: Int64) -> Bool:
        """Return which of some gangs (int64[A]) are groups: bool[A]."""
        every = self.every
        return np.isin(gang, list(every)) if every else np.zeros(len(gang), dtype=np.bool_)

    def rank_machines(self, machines: int) -> Int64:
        """Return int64[M]: the place of each machine in the order of the tree, without groups in that of their rows."""
        if not self.every:
            return np.arange(machines)
        rank = np.empty(machines, dtype=np.int64)
        rank[np.argsort(self.position, kind="stable")] = np.arange(machines)
        return rank


_NONE = np.empty(0, dtype=np.int64)

NO_GROUPS = GroupTerms(Tree((), (), (), _NONE), ExactSolver(), {}, _NONE)
"""There are none."""
