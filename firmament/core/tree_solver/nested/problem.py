"""Poses the placement of a tree of groups as a problem, and searches places for it in several ways.

The search first tries the natural order of the groups, which suffices if much capacity is free. Next, it places all
groups jointly. As the last resort, the search tries many other orders. If not all tasks can be placed, the tasks that
the groups need are placed, and as many more as fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from firmament.core.tree_solver.nested.elastic import ElasticSearch
from firmament.core.tree_solver.nested.joint import JointPacking
from firmament.core.tree_solver.nested.pattern_search import Effort
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.search import Hints, NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains

ORDERS = tuple(range(1, 24))
"""The orders (turns of `NestedSearch`) that are tried last."""
STEPS = 3_000
"""Most steps of one search for places of a tree."""
FIRST_STEPS = 4
"""Most steps per group of the search in the natural order."""
EFFORT = 4_000
"""Most effort that a joint packing may spend, see `Effort`."""


@dataclass(frozen=True, slots=True)
class NestedProblem:
    """A tree of groups, and what machines can take of its tasks.

    ``shape_of``: for each part, its shape in ``room``, where the places that are found are booked; ``hints``: as in
    `NestedSearch`.
    """

    group: LinkedGroup
    domains: NestedDomains
    room: NestedRoom
    shape_of: Sequence[int]
    hints: Hints = field(default_factory=dict)

    def find_places(self, steps: SearchSteps) -> NestedPlaces | None:
        """Return places for all tasks, or, if that fails, for the tasks that the groups need and as many more as fit.

        The result is None if the search finds no places.
        """
        return self.search_places(steps)[0]

    def search_places(self, steps: SearchSteps) -> tuple[NestedPlaces | None, bool]:
        """Return the result of ``find_places``; if it is None, also whether it is certain that there are no places."""
        mark = self.room.mark()
        search = ElasticSearch(self.group, self.domains, self.room, self.shape_of, steps, self.hints)
        found, certain = False, True
        if self.has_enough_domains():
            if search.search((0,), limit=FIRST_STEPS):
                return search.collect(), True
            if self.has_room_for_all():
                found, certain = self._place_all(search, steps)
        if found:
            return search.collect(), True
        if not search.is_elastic():
            return None, certain
        if not self.has_enough_domains(least=True):
            return None, True
        if self._place_least(search, steps):
            search.add_more()
            places = search.collect()
            if places.tasks >= self.group.fewest:
                return places, True
            self.room.undo(mark)
        return None, False

    def _place_all(self, search: ElasticSearch, steps: SearchSteps) -> tuple[bool, bool]:
        """Place all tasks by a joint packing, or else by searches in other orders; return whether that succeeded.

        If the packing proves that there are no places, no search is made. The function also returns whether a failure
        is certain.
        """
        found, certain = self._pack(search, steps, self.group.part_count.tolist())
        return found or (not certain and search.search(ORDERS)), certain

    def _place_least(self, search: ElasticSearch, steps: SearchSteps) -> bool:
        """Place the tasks that the groups need; return whether that succeeded."""
        if search.search((0,), least=True, limit=FIRST_STEPS):
            return True
        counts = search.count_fewest()
        if counts is not None and self._pack(search, steps, counts)[0]:
            return True
        return search.search((0, *ORDERS), least=True)

    def _pack(self, search: ElasticSearch, steps: SearchSteps, counts: Sequence[int]) -> tuple[bool, bool]:
        """Place ``counts`` tasks of each part by a joint packing; return whether places were found and booked.

        Also returns, if none were found, whether it is certain that there are none.
        """
        effort = Effort(min(EFFORT, steps.left))
        given, certain = effort.left, False
        for wishes in (True, False) if any(self.group.rather_within) else (False,):
            packing = JointPacking(
                self.group, self.domains, self.room, self.shape_of, counts, effort, wishes=wishes
            )
            found = packing.pack_all()
            if found is not None:
                search.adopt(found)
                break
            certain = packing.is_certain
        steps.left -= given - effort.left
        return found is not None, certain

    def has_enough_domains(self, *, least: bool = False) -> bool:
        """Return whether there are enough domains for the child groups that must each have one of their own.

        ``least``: whether to count only children of root groups, and only as many as each root needs at least.
        """
        group = self.group
        if not any(group.apart):
            return True
        values = [len(np.unique(code[code >= 0])) for code in self.domains.code]
        for number, apart in enumerate(group.apart):
            if not apart or (least and number not in group.roots):
                continue
            children = group.children[number]
            enough = len(children) - int(group.least[number]) if least else 0
            for key, most in enumerate(values):
                bound = [
                    child
                    for child in children
                    if key in group.within[child]
                    and (int(group.least[child]) if least else self._has_tasks(child))
                ]
                if len(bound) - enough > most:
                    return False
        return True

    def _has_tasks(self, number: int) -> bool:
        """Return whether a group, or a group in it, has tasks that run or wait."""
        inside = self.group.list_subtree(number)
        return bool(self.group.held[number]) or any(self.group.parts[each] for each in inside)

    def has_room_for_all(self) -> bool:
        """Return whether all machines together can take all tasks, as if there were no groups."""
        group, room = self.group, self.room
        wanted = np.zeros(len(room.requests), dtype=np.int64)
        for part, shape in enumerate(self.shape_of):
            wanted[shape] += group.part_count[part]
        if (np.minimum(room.slots, wanted[:, None]).sum(axis=1) < wanted).any():
            return False
        return bool((wanted @ room.requests <= np.maximum(room.free, 0).sum(axis=1)).all())
