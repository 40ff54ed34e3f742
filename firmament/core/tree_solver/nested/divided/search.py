"""Searches places for a tree of groups in which rules divide some groups over domains.

Each rule has choices: how many members share a domain, and which members these are. Each combination of choices, the
best ones first, makes the tree one of groups that must be apart; its places are searched as for any other tree. If a
group has several rules, the second rule divides the members that share a domain by the first rule, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from firmament.core.tree_solver.nested.divided.choices import DivisionChoices
from firmament.core.tree_solver.nested.divided.members import FoundMembers, find_members
from firmament.core.tree_solver.nested.divided.variants import ChosenDivision, Variant, build_variant
from firmament.core.tree_solver.nested.problem import STEPS, NestedProblem
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.trees import Division

VARIANTS = 400
"""Most combinations of choices that are tried for one tree."""
MORE = 8
"""Number of combinations that are tried after the first combination with places, if that one leaves out tasks."""
SHARE = 4
"""One combination may take at most the tree's steps divided by this number."""


class DividedSearch:
    """A search for places of a tree with divisions; places that it finds are booked in the problem's free amounts."""

    def __init__(self, problem: NestedProblem) -> None:
        self._problem = problem
        group = problem.group
        there = np.bincount(group.held_group, minlength=len(group.names))
        np.add.at(there, group.part_group, group.part_count)
        completable = group.find_whole(there.tolist())
        first: dict[int, Division] = {}
        for each in group.divided:
            first.setdefault(each.group, each)
        self._divisions = tuple(first.values())
        self._found = [
            find_members(group, each, problem.domains, problem.room, problem.shape_of, completable)
            for each in self._divisions
        ]
        self._choices = [
            DivisionChoices(division.rule, found.members, binds_held=division.binds_held)
            for division, found in zip(self._divisions, self._found, strict=True)
        ]

    @property
    def found(self) -> Sequence[FoundMembers]:
        """The members of each group that is divided, in the order of the groups' first divisions."""
        return self._found

    def find_places(self, steps: SearchSteps) -> tuple[NestedPlaces | None, bool]:
        """Return places or None; with None, also whether it is certain that there are no places."""
        problem, room = self._problem, self._problem.room
        groups = len(problem.group.names)
        given = SearchSteps(max(min(STEPS, steps.left), SHARE * groups))
        before, certain, more = given.left, True, MORE
        total = int(problem.group.part_count[~problem.group.part_to_come].sum())
        best: NestedPlaces | None = None
        for number, variant in enumerate(self._iterate_variants()):
            if given.left <= 0 or number >= VARIANTS or not more:
                certain = False
                break
            mark = room.mark()
            own = SearchSteps(max(min(given.left, STEPS // SHARE), SHARE * len(variant.group.names)))
            most = own.left
            shape_of = [problem.shape_of[part] for part in variant.part_of]
            places, sure = _search(NestedProblem(variant.group, problem.domains, room, shape_of), own)
            given.left -= max(most - own.left, 1)
            room.undo(mark)
            more -= best is not None
            certain &= sure
            if places is None or places.tasks < max(problem.group.fewest, 1):
                continue
            if best is None or places.tasks > best.tasks:
                best = replace(places, part=np.array(variant.part_of, dtype=np.int64)[places.part])
            if best.tasks == total:
                break
        steps.left -= before - given.left
        if best is not None:
            self._book(best)
        return best, certain and all(each.is_complete for each in self._choices)

    def _book(self, places: NestedPlaces) -> None:
        for part in np.unique(places.part).tolist():
            own = places.part == part
            machines, at = np.unique(places.machine[own], return_inverse=True)
            counts = np.bincount(at.reshape(-1), places.count[own], len(machines)).astype(np.int64)
            self._problem.room.take(self._problem.shape_of[part], machines, counts)

    def _iterate_variants(self) -> Iterator[Variant]:
        """Yield the trees for all combinations of choices that may have places, the best first.

        A combination is better if it leaves out fewer members; if equally many, the one with the lower sum of ranks
        is better.
        """
        group, domains = self._problem.group, self._problem.domains
        if any(choices.get(0) is None for choices in self._choices):
            return
        first = (0,) * len(self._choices)
        todo = [(self._weigh(first), first)]
        seen = {first}
        while todo:
            _, ranks = heappop(todo)
            chosen = {}
            for division, found, choices, rank in zip(
                self._divisions, self._found, self._choices, ranks, strict=True
            ):
                choice = choices.get(rank)
                assert choice is not None  # the search only notes ranks that exist
                chosen[division.group] = ChosenDivision(division, found, choice)
            variant = build_variant(group, domains, chosen)
            if len(variant.part_of):
                yield variant
            for place, choices in enumerate(self._choices):
                following = (*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])
                if following not in seen and choices.get(following[place]) is not None:
                    seen.add(following)
                    heappush(todo, (self._weigh(following), following))

    def _weigh(self, ranks: Sequence[int]) -> tuple[int, int]:
        found = [choices.get(rank) for choices, rank in zip(self._choices, ranks, strict=True)]
        return sum(each.left for each in found if each is not None), sum(ranks)


def _search(problem: NestedProblem, steps: SearchSteps) -> tuple[NestedPlaces | None, bool]:
    """Return places for a tree with or without divisions, or None; with None, also whether that is certain."""
    if problem.group.divided:
        return DividedSearch(problem).find_places(steps)
    return problem.search_places(steps)
