"""Goes from the leaves up: finds the best answer to each question, and which child of a unit holds which count.

Answers are compared by an objective: one number with a part of 64 bits, sign included, for each thing that is compared
(see `solver`). Objectives add up over the units of a placement, and the least one is the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.tree_solver import regular
from firmament.core.tree_solver.questions import Profile, Questions
from firmament.core.tree_solver.reach import ReachableShares, Shares, compute_caps
from firmament.core.tree_solver.tree import Rule, Tree

PART = 64
Objectives = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class LevelAnswers:
    """For each question, the objective of its best placement, and the number of pods of each child of the unit."""

    objectives: Objectives
    held: Sequence[Sequence[int] | Int64]


class Comparison:
    """Computes objectives from their parts.

    The parts, from the least important: how much the used leaves could hold; cost; how much the used units of each
    level above the leaves could hold (lowest level first); how well counts obey each level's rule (lowest level first).
    """

    def __init__(self, rules: Sequence[Rule], asked: Sequence[Questions]) -> None:
        self._rules = rules
        place = len(rules) + 1
        self._weights: list[dict[int, int]] = []
        for rule, questions in zip(reversed(rules), reversed(asked), strict=True):
            counts = questions.counts()
            another = 1 << PART * (place + len(counts)) if rule.kind == "pack" else 0
            sign = -1 if rule.kind == "pack" else 1
            weights = {
                count: another + (sign << PART * (place + index)) for index, count in enumerate(counts)
            }
            self._weights.append(dict.fromkeys(counts, 0) if rule.hard else weights)
            place += len(counts) + 1
        self._weights.reverse()

    def get_room_bit(self, level: int) -> int:
        """Return the lowest bit of the part of objectives that says how much a level's used units could hold."""
        leaves = len(self._rules) - 1
        return 0 if level == leaves else PART * (1 + leaves - level)

    def weigh_profile(self, level: int, profile: Profile) -> int:
        """Return what a unit of a level adds to the objective if its used children hold the counts of ``profile``."""
        weights = self._weights[level]
        return sum(weights[count] for count in profile)

    def weigh_profiles(self, level: int, profiles: Int64) -> Objectives:
        """Return what each row of ``profiles`` (counts of a unit's used children) adds to the objective."""
        objectives: Objectives = np.zeros(len(profiles), dtype=object)
        for count, weight in self._weights[level].items():
            if weight:
                objectives += (profiles == count).sum(axis=1).astype(object) * weight
        return objectives


def answer(
    tree: Tree,
    found: ReachableShares,
    rules: Sequence[Rule],
    cost: Int64,
    sign: int,
    asked: Sequence[Questions],
) -> list[LevelAnswers]:
    """Return the answers to the questions of each level.

    ``sign``: 1 if units that could hold few pods are better, -1 if those that could hold many are, 0 if that does not
    matter.
    """
    comparison = Comparison(rules, asked)
    leaves = len(rules) - 1
    room = [sign * each for each in found.room]
    answers = [_of_leaves(tree, found, comparison, cost, room[-1], asked[-1])]
    for level in range(leaves - 1, -1, -1):
        answers.append(
            _of_units(
                tree, found.shares[level], comparison, level, room[level], asked, answers[-1].objectives
            )
        )
    return answers[::-1]


def _of_leaves(
    tree: Tree, found: ReachableShares, comparison: Comparison, cost: Int64, room: Int64, asked: Questions
) -> LevelAnswers:
    """Return the answers to questions about the units whose children are leaves."""
    level = len(tree.levels) - 1
    shares, first = found.shares[level], tree.first_children(level)
    objectives: Objectives = np.zeros(len(asked.units), dtype=object)
    held: list[Sequence[int] | Int64] = [()] * len(asked.units)
    for batch in asked.batches:
        most = compute_caps(shares, batch.children, batch.exists) * shares.step
        price, space = cost[batch.children], room[batch.children]
        counts = regular.assign_counts(batch.profiles, most, price, space)
        total = (counts * price).sum(axis=1).astype(object)
        used = ((counts > 0) * space).sum(axis=1).astype(object)
        objectives[batch.positions] = (
            comparison.weigh_profiles(level, batch.profiles) + (total << PART) + used
        )
        for question, row in zip(batch.positions.tolist(), counts, strict=True):
            held[question] = row
    for question, profile in asked.others.items():
        unit = int(asked.units[question])
        children = range(int(first[unit]), int(first[unit + 1]))
        kinds = set(profile)
        weights = []
        for child in children:
            able, price_of, space_of = shares.counts(child), int(cost[child]), int(room[child])
            weights.append(
                {count: (price_of * count << PART) + space_of for count in kinds if able >> count & 1}
            )
        must = shares.must[children.start : children.stop].tolist()
        held[question], total_of = assign(profile, weights, must)
        objectives[question] = total_of + comparison.weigh_profile(level, profile)
    return LevelAnswers(objectives, held)


def _of_units(
    tree: Tree,
    shares: Shares,
    comparison: Comparison,
    level: int,
    room: Int64,
    asked: Sequence[Questions],
    below: Objectives,
) -> LevelAnswers:
    """Return the answers to questions about units whose children are on ``level``.

    ``below``: the objectives of the children's answers.
    """
    first, bit = tree.first_children(level).tolist(), comparison.get_room_bit(level)
    own, theirs = asked[level], asked[level + 1]
    known: list[dict[int, int]] = [{} for _ in range(tree.count_units(level))]
    space = [each << bit for each in room.tolist()]
    for unit, share, worth in zip(theirs.units.tolist(), theirs.shares.tolist(), below.tolist(), strict=True):
        known[unit][share] = worth + space[unit]
    profiles: dict[int, Profile] = dict(own.others)
    for batch in own.batches:
        for question, row in zip(batch.positions.tolist(), batch.profiles.tolist(), strict=True):
            profiles[question] = tuple(count for count in row if count)
    must = shares.must.tolist()
    objectives: Objectives = np.zeros(len(own.units), dtype=object)
    held: list[Sequence[int] | Int64] = [()] * len(own.units)
    for question, unit in enumerate(own.units.tolist()):
        profile = profiles[question]
        children = slice(first[unit], first[unit + 1])
        kinds = set(profile)
        weights = [{count: each[count] for count in kinds if count in each} for each in known[children]]
        held[question], total = assign(profile, weights, must[children])
        objectives[question] = total + comparison.weigh_profile(level, profile)
    return LevelAnswers(objectives, held)


# --- Gives each child of a unit a count of a profile: a transportation problem with few kinds of counts, exact.


IDLE = 0


def assign(
    profile: Sequence[int], weights: Sequence[Mapping[int, int]], must: Sequence[bool]
) -> tuple[list[int], int]:
    """Return which count of ``profile`` (largest first) each child gets in the cheapest way, and what that costs.

    ``weights``: for each child, the cost of each count that it may hold; ``must``: children that may not be left out.
    At least one such assignment must exist. Of equal children, the earlier one gets no smaller count.
    """
    needed = Counter(profile)
    if len(needed) == 1:
        chosen = _cheapest(profile[0], len(profile), weights, must)
    else:
        chosen = _Augmentation(needed, weights, must).solve()
        _earlier_first(chosen, weights, must)
    return chosen, sum(weights[child][count] for child, count in enumerate(chosen) if count)


def _cheapest(
    count: int, number: int, weights: Sequence[Mapping[int, int]], must: Sequence[bool]
) -> list[int]:
    """Return the cheapest assignment of ``number`` equal counts to children, first to those that must be used."""
    able = sorted(
        (not must[child], each[count], child) for child, each in enumerate(weights) if count in each
    )
    chosen = [0] * len(weights)
    for _, _, child in able[:number]:
        chosen[child] = count
    return chosen


def _earlier_first(chosen: list[int], weights: Sequence[Mapping[int, int]], must: Sequence[bool]) -> None:
    """Give the larger counts to the earlier children, among children that are equal."""
    alike: dict[tuple[bool, tuple[tuple[int, int], ...]], list[int]] = {}
    for child, each in enumerate(weights):
        alike.setdefault((must[child], tuple(sorted(each.items()))), []).append(child)
    for children in alike.values():
        if len(children) > 1:
            for child, count in zip(
                children, sorted((chosen[child] for child in children), reverse=True), strict=True
            ):
                chosen[child] = count


class _Augmentation:
    """Finds the cheapest assignment by successive shortest paths (a min-cost flow with a node for each count).

    Each step gives one more child a count, by the cheapest chain of children that change their counts. For each pair of
    counts, a heap gives the child that can change from one count to the other at the least cost. The search drops an
    entry of a heap if its child has changed since.
    """

    __slots__ = ("heaps", "held", "kinds", "needed", "weights")

    def __init__(
        self, needed: Mapping[int, int], weights: Sequence[Mapping[int, int]], must: Sequence[bool]
    ) -> None:
        self.needed = needed
        self.kinds = [IDLE, *sorted(needed, reverse=True)]
        # leaving out a child that must be used costs more than any choice among the other children
        dear = 1 + 2 * sum(max(map(abs, each.values()), default=0) for each in weights)
        self.weights = [
            {IDLE: dear if required else 0} | {kind: each[kind] for kind in self.kinds[1:] if kind in each}
            for each, required in zip(weights, must, strict=True)
        ]
        self.held = [IDLE] * len(weights)
        self.heaps: dict[tuple[int, int], list[tuple[int, int]]] = {
            (before, after): [] for before in self.kinds for after in self.kinds if before != after
        }
        for child, each in enumerate(self.weights):
            for kind in each:
                if kind != IDLE:
                    self.heaps[IDLE, kind].append((each[kind] - each[IDLE], child))
        for kind in self.kinds[1:]:
            heapify(self.heaps[IDLE, kind])

    def solve(self) -> list[int]:
        """Return the count of each child, 0 if it is left out."""
        for kind in self.kinds[1:]:
            for _ in range(self.needed[kind]):
                self._add(kind)
        return self.held

    def _add(self, kind: int) -> None:
        """Let one more child hold the count ``kind``, by the cheapest chain of changes."""
        moves = {pair: top for pair in self.heaps if (top := self._top(*pair)) is not None}
        cost: dict[int, int] = {IDLE: 0}
        before: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for (start, end), (price, _) in moves.items():
                if start in cost and end != IDLE and (end not in cost or cost[start] + price < cost[end]):
                    cost[end], before[end] = cost[start] + price, start
                    changed = True
        while kind != IDLE:
            child = moves[before[kind], kind][1]
            self._move(child, kind)
            kind = before[kind]

    def _top(self, before: int, after: int) -> tuple[int, int] | None:
        """Return the cheapest child that holds ``before`` and may hold ``after``, with what the change costs."""
        heap = self.heaps[before, after]
        while heap and self.held[heap[0][1]] != before:
            heappop(heap)
        return heap[0] if heap else None

    def _move(self, child: int, kind: int) -> None:
        self.held[child] = kind
        each = self.weights[child]
        for other, weight in each.items():
            if other != kind:
                heappush(self.heaps[kind, other], (weight - each[kind], child))
