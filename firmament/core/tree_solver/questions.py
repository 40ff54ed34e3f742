"""Goes from the root down: finds which shares of units the best placement may involve, and their best profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.tree_solver import regular
from firmament.core.tree_solver.count_vectors import best_profile
from firmament.core.tree_solver.reach import ReachableShares, Shares, batches, compute_caps, find_regular
from firmament.core.tree_solver.tree import Rule, Tree, limits

Profile = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions about units with regular children, as arrays with one row per question.

    ``positions``: int64[R], the number of each question; ``children``: int64[R, C], units, valid where ``exists``:
    bool[R, C]; ``profiles``: int64[R, C], the best counts of the children, largest first.
    """

    positions: Int64
    children: Int64
    exists: Bool
    profiles: Int64


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about one level: question q asks how to divide ``shares[q]`` pods over the children of ``units[q]``.

    The questions are named by the level of the children. ``units`` and ``shares``: int64[Q], sorted by both, without
    repetition. The best profile (counts of the children) of a question is in ``batches`` or, by number of the
    question, in ``others``.
    """

    units: Int64
    shares: Int64
    batches: Sequence[Batch]
    others: Mapping[int, Profile]

    def counts(self) -> list[int]:
        """Return all counts above 0 that occur in some profile, ascending."""
        found = {count for profile in self.others.values() for count in profile}
        for batch in self.batches:
            found.update(np.unique(batch.profiles).tolist())
        return sorted(found - {0})


def ask(tree: Tree, found: ReachableShares, rules: Sequence[Rule], size: int) -> list[Questions]:
    """Return the questions of each level, beginning with the root's: how is ``size`` divided over the first level?

    The best profile of a share does not depend on the rest of the tree, as what `solver` compares adds up over units.
    Further questions about a child are therefore only those for counts in the profiles of its parent's questions.
    """
    units, shares = np.zeros(1, dtype=np.int64), np.full(1, size, dtype=np.int64)
    asked = []
    for level, rule in enumerate(rules):
        asked.append(_answer(tree, found, level, rule, units, shares))
        if level + 1 < len(rules):
            units, shares = _list_child_questions(
                asked[-1], found.shares[level], tree.first_children(level), size
            )
    return asked


def _answer(
    tree: Tree, found: ReachableShares, level: int, rule: Rule, units: Int64, shares: Int64
) -> Questions:
    """Return the questions about ``shares`` of ``units`` above ``level``, with the best profile of each."""
    below, first = found.shares[level], tree.first_children(level)
    number, least = limits(rule).units, below.least // below.step
    fill = regular.pack_profiles if rule.kind == "pack" else regular.spread_profiles
    simple = find_regular(below, first)[units]
    quick = np.flatnonzero(simple)
    done = []
    for positions, children, exists in batches(first, units[quick]):
        most = -np.sort(-compute_caps(below, children, exists), axis=1)
        profiles = fill(most, least, number, shares[quick[positions]] // below.step) * below.step
        done.append(Batch(quick[positions], children, exists, profiles))
    others = {}
    for question in np.flatnonzero(~simple).tolist():
        unit = int(units[question])
        options = below.options(range(int(first[unit]), int(first[unit + 1])))
        others[question] = best_profile(options, number, rule.kind == "pack", int(shares[question]))
    return Questions(units, shares, done, others)


def _list_child_questions(asked: Questions, shares: Shares, first: Int64, size: int) -> tuple[Int64, Int64]:
    """Return the questions about the children: how each child divides the counts of its parent's profiles.

    Counts that the child cannot hold are left out.

    The result is units and shares, int64[Q] each, sorted.
    """
    codes = []
    for batch in asked.batches:
        first_of_run = np.diff(batch.profiles, axis=1, prepend=-1) != 0
        row, place = np.nonzero(batch.profiles * first_of_run)
        count = batch.profiles[row, place]
        able = batch.exists[row] & (shares.high[batch.children[row]] >= count[:, None])
        which, column = np.nonzero(able)
        codes.append(batch.children[row[which], column] * (size + 1) + count[which])
    for question, profile in asked.others.items():
        unit = int(asked.units[question])
        for child in range(int(first[unit]), int(first[unit + 1])):
            able_counts = shares.counts(child)
            codes.append(
                np.array(
                    [child * (size + 1) + count for count in set(profile) if able_counts >> count & 1],
                    dtype=np.int64,
                )
            )
    code = np.unique(np.concatenate(codes)) if codes else np.zeros(0, dtype=np.int64)
    return code // (size + 1), code % (size + 1)
