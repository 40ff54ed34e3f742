"""A complete solver: if any placement keeps the rules it finds the best one.

*Best* is a comparison in this order, each point deciding where those before are equal:

1. Level by level from the top, how well the counts of its units obey the level's rule, all units of the level together.
   Pack: fewer used units, then the larger the largest, the second largest, ... count. Spread: the smaller the largest,
   the second largest, ... count. Hard rules leave nothing to compare.
2. Level by level from the top, without the leaves: the room of the used units, all together. "best-fit" wants little
   room, so that small groups do not break up empty domains; "roomiest" wants much; "cheapest" does not compare it.
   Room is what ``counted`` says.
3. The sum of ``cost`` over the pods.
4. The room of the used leaves, as in 2.

What is still equal is decided by the order of the tree, the same way each time; of siblings that are alike the earlier
one holds no less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.answers import answer
from firmament.core.tree_solver.diagnosis import shortage
from firmament.core.tree_solver.questions import ask
from firmament.core.tree_solver.reach import ReachableShares, reach, room_of
from firmament.core.tree_solver.tree import Rule, Shortage, Tree

Choice = Literal["best-fit", "roomiest", "cheapest"]
CHOICES: tuple[Choice, ...] = ("best-fit", "roomiest", "cheapest")
_SIGN = {"best-fit": 1, "roomiest": -1, "cheapest": 0}


@dataclass(frozen=True, slots=True)
class ExactSolver:
    """See the module. ``choice``: which of otherwise equal domains are taken."""

    choice: Choice = "best-fit"

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
        enough = int((np.clip(slots, 0, size) + held).sum()) >= size
        found = reach(tree, slots, size, rules, held) if enough else None
        if found is None or not found.whole >> size & 1:
            return shortage(tree, slots, size, rules, held)
        if counted is not None:
            found = replace(found, room=room_of(tree, counted, held))
        return divide(tree, found, size, rules, cost, _SIGN[self.choice])


# --- Divides a group over a tree whose reachable shares are known.


def divide(
    tree: Tree, found: ReachableShares, size: int, rules: Sequence[Rule], cost: Int64, sign: int
) -> Int64:
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
