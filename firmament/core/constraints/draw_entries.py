"""Keeps the amounts of many draws as arrays, to look at thousands of queues at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import Draw
from firmament.core.ranks import count_up


@dataclass(frozen=True, slots=True, eq=False)
class DrawEntries:
    """D draws as E entries, each for one resource in one flavor; entries of a draw follow each other.

    A *choice* is one flavor of one group of a draw. A draw that is not admitted has no entries.
    """

    admitted: Bool
    """bool[D], whether the draw's tasks are admitted at all."""
    single: Bool
    """bool[D], whether the draw's tasks have one flavor to choose from in each group."""
    node: Int64
    """int64[E], the quota from which the amount is taken."""
    column: Int64
    """int64[E], the column of the flavor and resource."""
    flavor: Int64
    """int64[E], the flavor."""
    amount: Int64
    """int64[E], how much a task takes; positive."""
    first: Int64
    """int64[D + 1], where the entries of each draw begin."""
    choice: Int64
    """int64[E], the number of the entry's choice."""
    group: Int64
    """int64[C], the number of each choice's group."""
    draw: Int64
    """int64[G], the draw of each group."""

    @classmethod
    def from_draws(cls, draws: Sequence[Draw]) -> DrawEntries:
        """Return the entries of ``draws``."""
        entries: list[tuple[int, int, int, int, int]] = []
        admitted, single, first = [], [], [0]
        group_of: list[int] = []
        draw_of: list[int] = []
        for number, draw in enumerate(draws):
            node, one = draw.node, True
            admitted.append(node >= 0 and not draw.refused)
            for group in draw.groups if admitted[-1] else ():
                one &= len(group.flavors) == 1
                for flavor, columns in zip(group.flavors, group.columns, strict=True):
                    choice = len(group_of)
                    group_of.append(len(draw_of))
                    for column, amount in zip(columns, group.amounts, strict=True):
                        entries.append((node, column, flavor, amount, choice))
                draw_of.append(number)
            first.append(len(entries))
            single.append(one)
        table = np.array(entries, dtype=np.int64).reshape(-1, 5)
        return cls(
            admitted=np.array(admitted, dtype=np.bool_),
            single=np.array(single, dtype=np.bool_),
            node=table[:, 0],
            column=table[:, 1],
            flavor=table[:, 2],
            amount=table[:, 3],
            first=np.array(first, dtype=np.int64),
            choice=table[:, 4],
            group=np.array(group_of, dtype=np.int64),
            draw=np.array(draw_of, dtype=np.int64),
        )

    def find_open(self, available: Int64) -> Bool:
        """Return the draws of which a quota has enough for one task, in some flavor of each group: bool[D].

        ``available``: int64[N, J], what each quota has left. Whether there are machines of these flavors does not
        count.
        """
        lacks = available[self.node, self.column] < self.amount
        enough = np.bincount(self.choice[lacks], minlength=len(self.group)) == 0
        served = np.bincount(self.group[enough], minlength=len(self.draw)) > 0
        found: Bool = self.admitted & (np.bincount(self.draw[~served], minlength=len(self.admitted)) == 0)
        return found

    def list_amounts(self, draws: Int64, covered: Bool, counts: Int64) -> tuple[Int64, Int64, Int64] | None:
        """Return quota, column and amount of all that ``counts[i]`` tasks of ``draws[i]`` take: int64 each.

        ``covered``: bool[A, F], the flavors of the machines on which they are. Return None if some task is not
        admitted, has several flavors to choose from in a group, or is on machines without its flavor.
        """
        if not (self.admitted & self.single)[draws].all():
            return None
        begin, length = self.first[draws], self.first[draws + 1] - self.first[draws]
        entry, of = np.repeat(begin, length) + count_up(length), np.repeat(np.arange(len(draws)), length)
        if not covered[of, self.flavor[entry]].all():
            return None
        return self.node[entry], self.column[entry], self.amount[entry] * counts[of]
