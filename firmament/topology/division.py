"""Divides a group over a tree whose reachable shares are known: profiles top-down, who holds what bottom-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cost_models.interface import Int64
from firmament.topology.assignment import assign
from firmament.topology.profiles import best_profile
from firmament.topology.reach import Reach
from firmament.topology.rules import Rule, limits
from firmament.topology.tree import Tree

Choice = Literal["best-fit", "roomiest", "cheapest"]
BITS = 64
Profile = tuple[int, ...]
Question = tuple[int, int]  # a unit and its share


@dataclass(slots=True)
class Division:
    """One placement being worked out.

    A *question* is a unit and a share of the group for it. The best profile of its children is the same whatever is
    placed elsewhere, so questions go down the tree: root and size first, then every child that may hold some count of
    the profile. Answers come back up: what the best placement below costs, as one number that is compared part by part
    (see `solver`), and which child holds what.
    """

    tree: Tree
    found: Reach
    rules: Sequence[Rule]
    cost: Int64
    choice: Choice
    profiles: list[dict[Question, Profile]] = field(default_factory=list)
    chosen: list[dict[Question, list[int]]] = field(default_factory=list)

    def solve(self, size: int) -> Int64:
        """int64[L], the counts of the leaves; ``size`` is one that the tree can hold."""
        self._ask(size)
        self._answer()
        return self._read(size)

    def _ask(self, size: int) -> None:
        """Profiles of all questions, level by level."""
        questions: list[Question] = [(0, size)]
        for level in range(len(self.tree.levels)):
            first = self.tree.first_children(level).tolist()
            options = list(zip(self.found.options[level], self.found.must[level], strict=True))
            rule, units = self.rules[level], limits(self.rules[level]).units
            profiles: dict[Question, Profile] = {}
            asked: dict[Question, None] = {}
            for unit, share in questions:
                children = range(first[unit], first[unit + 1])
                profile = best_profile(
                    options[first[unit] : first[unit + 1]], units, rule.kind == "pack", share
                )
                profiles[unit, share] = profile
                for count in set(profile):
                    asked.update(
                        ((child, count), None) for child in children if options[child][0] >> count & 1
                    )
            self.profiles.append(profiles)
            questions = list(asked)

    def _answer(self) -> None:
        """From the leaves up, what each question's best placement costs and which child holds what."""
        places = _Places(self.rules, self.profiles)
        sign = {"best-fit": 1, "roomiest": -1, "cheapest": 0}[self.choice]
        leaf_room = (sign * self.found.room[-1]).tolist()
        leaf_cost = self.cost.tolist()
        below: Mapping[Question, int] = {}
        for level in range(len(self.tree.levels) - 1, -1, -1):
            first = self.tree.first_children(level).tolist()
            is_leaf = level == len(self.tree.levels) - 1
            room = (sign * self.found.room[level]).tolist()
            must, options = self.found.must[level], self.found.options[level]
            answers: dict[Question, int] = {}
            chosen: dict[Question, list[int]] = {}
            for (unit, share), profile in self.profiles[level].items():
                children = range(first[unit], first[unit + 1])
                weights = [
                    {
                        count: (leaf_cost[child] * count << BITS) + leaf_room[child]
                        if is_leaf
                        else below[child, count] + (room[child] << places.fit(level))
                        for count in set(profile)
                        if options[child] >> count & 1
                    }
                    for child in children
                ]
                held, total = assign(profile, weights, must[first[unit] : first[unit + 1]])
                chosen[unit, share] = held
                answers[unit, share] = total + places.worth(level, profile)
            self.chosen.append(chosen)
            below = answers
        self.chosen.reverse()

    def _read(self, size: int) -> Int64:
        """Follow the answers down."""
        shares = [size]
        for level, chosen in enumerate(self.chosen):
            first = self.tree.first_children(level).tolist()
            below = [0] * self.tree.units(level)
            for unit, share in enumerate(shares):
                if share:
                    below[first[unit] : first[unit + 1]] = chosen[unit, share]
            shares = below
        return np.array(shares, dtype=np.int64)


class _Places:
    """Where the parts of a comparison are in the number that stands for it; each has 64 bits and its sign."""

    def __init__(self, rules: Sequence[Rule], profiles: Sequence[Mapping[Question, Profile]]) -> None:
        self._levels = len(rules)
        self._rules = rules
        place = 2 + self._levels - 1  # leaf room, cost, room of domains
        self._of: list[dict[int, int]] = [{} for _ in rules]
        self._used = [0] * self._levels
        for level in range(self._levels - 1, -1, -1):
            for count in sorted({count for profile in profiles[level].values() for count in profile}):
                self._of[level][count] = place
                place += 1
            self._used[level] = place
            place += 1

    def fit(self, level: int) -> int:
        """Bits below the room of the used units of a level above the leaves."""
        return BITS * (2 + self._levels - 2 - level)

    def worth(self, level: int, profile: Profile) -> int:
        """How good a profile on a level is, less being better."""
        rule = self._rules[level]
        if rule.hard:
            return 0
        sign = -1 if rule.kind == "pack" else 1
        worth = sum(sign << BITS * self._of[level][count] for count in profile)
        return worth + (len(profile) << BITS * self._used[level] if rule.kind == "pack" else 0)
