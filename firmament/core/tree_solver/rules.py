"""Rules per level of a tree, what a solver answers, and why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from cost_models.group_terms import LevelRule
from cost_models.interface import Int64
from firmament.core.tree_solver.tree import Tree

Rule: TypeAlias = LevelRule


@dataclass(frozen=True, slots=True)
class Limits:
    """The strict part of a rule, whatever it was called: ``units``: exactly so many are used, 0 for any number; a used
    unit holds ``low`` to ``high`` pods (``high`` 0: no bound), a multiple of ``step``.
    """

    units: int
    low: int
    high: int
    step: int


def limits(rule: Rule) -> Limits:
    """What a rule demands of the counts. The lower bound is at least 1; both are multiples of the step."""
    if rule.hard:
        return Limits(1, 1, 0, 1) if rule.kind == "pack" else Limits(0, 1, 1, 1)
    step = max(rule.factor, 1)
    low = -(-max(rule.least, 1) // step) * step
    # A range that holds no multiple leaves no count at all: an upper bound below the lower one says that.
    high = rule.most // step * step or (low - 1 if rule.most else 0)
    return Limits(rule.partitions, low, high, step)


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a group finds no place. ``level``: whose rule stands in the way, empty if there is too little room at all;
    ``message``: one line for people; ``placeable``: how many of its pods could be placed by the rules.
    """

    level: str
    message: str
    placeable: int


@runtime_checkable
class GroupSolver(Protocol):
    """Divides a group over the leaves of a tree."""

    def place(
        self,
        tree: Tree,
        slots: Int64,
        size: int,
        rules: Sequence[Rule],
        cost: Int64,
        held: Int64,
        counted: Int64 | None = None,
    ) -> Int64 | Shortage:
        """How many of the group's pods each leaf holds, or why that cannot be.

        ``slots``: int64[L], how many more pods each leaf takes (below 0 counts as 0); ``size``: all pods of the group;
        ``rules``: one per level, top to bottom; ``cost``: int64[L], charged for each pod on the leaf, at most 2**62 in
        sum; ``held``: int64[L], pods of the group that are there already and stay; ``counted``: int64[L], how many more
        pods each leaf takes by the resources that count where rooms are compared, None for ``slots``.

        The answer, int64[L], sums to ``size``, is nowhere below ``held`` nor above ``held + slots``, and keeps every
        strict rule. It is the same for the same input.
        """
        ...
