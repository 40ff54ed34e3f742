"""Defines the groups of a round whose tasks are distributed over a tree of machines by rules."""

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
    """A group of which a round places all waiting tasks, or none.

    ``size``: number of its tasks, waiting or on machines of the tree; ``rules``: one per level; ``held``: int64[L],
    number of its tasks that are on each leaf already; ``order``: int64[N], the problem's class of each waiting task, in
    the order in which tasks are to be neighbours; ``refused``: why the group cannot be placed at all, "" if it can.
    """

    name: str
    size: int
    rules: tuple[Rule, ...]
    held: Int64
    order: Int64
    refused: str = ""


AnyGroup: TypeAlias = TreeGroup | NestedGroup
"""A group with rules for the levels of one tree of machines, or a tree of groups with labels."""


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """The tree of machines of a round, and the groups that are distributed over it, by number of the gang."""

    tree: Tree
    """The tree of machines."""
    solver: ExactSolver
    """Decides how many tasks of a group go to each leaf of the tree."""
    groups: Mapping[int, TreeGroup]
    """The groups that are distributed over the tree, by number of the gang."""
    position: Int64
    """int64[M], the leaf of each machine; L, the number of leaves, for machines outside the tree."""
    counted: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """int64[A], columns of the resources by which it is compared how much units can hold; empty: all resources."""
    domains: NestedDomains = NO_DOMAINS
    """The domains of the labels that trees of groups name."""
    nested: Mapping[int, NestedGroup] = field(default_factory=dict)
    """The trees of groups, by number of the gang."""
    resources: tuple[str, ...] = ()
    """Names of the resources, by column; empty without trees of groups."""

    @property
    def every(self) -> Mapping[int, AnyGroup]:
        """All groups, by number of the gang."""
        return {**self.groups, **self.nested} if self.nested else self.groups

    def find_grouped(self, gang: Int64) -> Bool:
        """Return which of these gangs (numbers, int64[A]) are tree groups or trees of groups: bool[A]."""
        every = self.every
        return np.isin(gang, list(every)) if every else np.zeros(len(gang), dtype=np.bool_)

    def rank_machines(self, machines: int) -> Int64:
        """Return the position of each machine in the order of the tree: int64[M].

        Without groups, machines are in the order of their rows.
        """
        if not self.every:
            return np.arange(machines)
        rank = np.empty(machines, dtype=np.int64)
        rank[np.argsort(self.position, kind="stable")] = np.arange(machines)
        return rank


_NONE = np.empty(0, dtype=np.int64)

NO_GROUPS = GroupTerms(Tree((), (), (), _NONE), ExactSolver(), {}, _NONE)
"""The terms of a round without groups."""
