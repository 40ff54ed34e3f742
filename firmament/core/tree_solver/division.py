"""Divides a group over a tree whose reachable shares are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.answers import answer
from firmament.core.tree_solver.questions import ask
from firmament.core.tree_solver.reach import Reach
from firmament.core.tree_solver.rules import Rule
from firmament.core.tree_solver.tree import Tree


def divide(tree: Tree, found: Reach, size: int, rules: Sequence[Rule], cost: Int64, sign: int) -> Int64:
    """int64[L], the counts of the leaves in the best placement of ``size`` pods, which ``found`` says there is.

    Questions go down the tree, answers come back up, and what the answers say is read off from the root. ``sign``: 1 if
    domains with little room are better, -1 for those with much, 0 if that does not matter.
    """
    asked = ask(tree, found, rules, size)
    answers = answer(tree, found, rules, cost, sign, asked)
    shares = np.full(1, size, dtype=np.int64)
    for level in range(len(rules)):
        first = tree.first_children(level).tolist()
        code = asked[level].units * (size + 1) + asked[level].shares
        below = np.zeros(tree.units(level), dtype=np.int64)
        used = np.flatnonzero(shares)
        questions = np.searchsorted(code, used * (size + 1) + shares[used])
        for unit, question in zip(used.tolist(), questions.tolist(), strict=True):
            start, end = first[unit], first[unit + 1]
            below[start:end] = answers[level].held[question][: end - start]
        shares = below
    return shares
