"""Places a tree of groups, or says which of its groups stands in the way.

First one natural order is tried, which is enough as long as there is room; then all groups are placed jointly, and last
many orders are gone through. If all tasks cannot be placed, as many are as the groups need, and more where there is
room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from firmament.core.reasons import format_number
from firmament.core.tree_solver.nested.elastic import ElasticSearch
from firmament.core.tree_solver.nested.joint import JointPacking
from firmament.core.tree_solver.nested.pattern_search import Effort
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.search import Hints, NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains
from firmament.core.tree_solver.tree import Shortage

ORDERS = tuple(range(1, 24))
"""Orders that are gone through last."""
STEPS = 3_000
"""Steps of a search, of those that are left in the round."""
FIRST_STEPS = 4
"""Steps of the search in its natural order, for each group."""
EFFORT = 4_000
"""What a joint packing may spend."""
BLAMED = 32
"""Groups of a level that are looked at one by one where a level stands in the way."""


@dataclass(frozen=True, slots=True)
class NestedProblem:
    """A tree, and where its tasks could go: ``shape_of`` each part in ``room``, which is booked with what is found.

    ``hints``: as in `NestedSearch`.
    """

    group: LinkedGroup
    domains: NestedDomains
    room: NestedRoom
    shape_of: Sequence[int]
    hints: Hints = field(default_factory=dict)

    def find_places(self, steps: SearchSteps) -> NestedPlaces | None:
        """Return places for all tasks or, if that cannot be found, for what the groups need and more; else None."""
        return self.search_places(steps)[0]

    def search_places(self, steps: SearchSteps) -> tuple[NestedPlaces | None, bool]:
        """Return the same, and if it is None whether there are no such places for certain."""
        mark = self.room.mark()
        search = ElasticSearch(self.group, self.domains, self.room, self.shape_of, steps, self.hints)
        if search.search((0,), limit=FIRST_STEPS):
            return search.collect(), True
        found, certain = self._place_all(search, steps) if self.has_all_room() else (False, True)
        if found:
            return search.collect(), True
        if not search.is_elastic():
            return None, certain
        if self._place_least(search, steps):
            search.add_more()
            places = search.collect()
            if places.tasks >= self.group.fewest:
                return places, True
            self.room.undo(mark)
        return None, False

    def _place_all(self, search: ElasticSearch, steps: SearchSteps) -> tuple[bool, bool]:
        """Place all tasks by a joint packing, or by other orders where it is not certain that there are no places."""
        found, certain = self._pack(search, steps, self.group.part_count.tolist())
        return found or (not certain and search.search(ORDERS)), certain

    def _place_least(self, search: ElasticSearch, steps: SearchSteps) -> bool:
        """Place what the groups need."""
        if search.search((0,), least=True, limit=FIRST_STEPS):
            return True
        counts = search.count_fewest()
        if counts is not None and self._pack(search, steps, counts)[0]:
            return True
        return search.search((0, *ORDERS), least=True)

    def _pack(self, search: ElasticSearch, steps: SearchSteps, counts: Sequence[int]) -> tuple[bool, bool]:
        """Place ``counts`` tasks of each part; returns whether places were found and booked, and if not, whether it is
        certain that there are none.
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

    def has_all_room(self) -> bool:
        """Return whether machines have slots, and room, for all tasks if groups did not matter."""
        group, room = self.group, self.room
        wanted = np.zeros(len(room.requests), dtype=np.int64)
        for part, shape in enumerate(self.shape_of):
            wanted[shape] += group.part_count[part]
        if (np.minimum(room.slots, wanted[:, None]).sum(axis=1) < wanted).any():
            return False
        return bool((wanted @ room.requests <= np.maximum(room.free, 0).sum(axis=1)).all())


def solve_nested(problem: NestedProblem, steps: SearchSteps) -> NestedPlaces | Shortage:
    """Return places for a tree, or why it finds none; ``steps``: what is left in the round."""
    given = SearchSteps(max(min(STEPS, steps.left), 4 * len(problem.group.names)))
    before = given.left
    found = problem.find_places(given)
    steps.left -= before - given.left
    return explain_shortage(problem, steps) if found is None else found


# --- Why there is no place: the level, and if one alone is to blame the group, whose labels stand in the way.


def explain_shortage(problem: NestedProblem, steps: SearchSteps) -> Shortage:
    """Return what to tell about a tree that finds no place.

    Labels are added level by level, from the tasks up; the first level that leaves no placement is named.
    """
    group = problem.group
    free = replace(group, within=((),) * len(group.names), rather_within=((),) * len(group.names))
    loose = _count_placed(problem, free)
    total = int(group.part_count.sum())
    if not _find_out(problem, free, steps)[0]:
        words = f"{loose} of {format_number(total, 'pod')} {'fits' if 1 in (loose, total) else 'fit'}"
        return Shortage("", f"{words} even without its rules about domains", loose)
    active = list(free.within)
    for depth in sorted(set(group.depth), reverse=True):
        level = [
            number for number in range(len(active)) if group.depth[number] == depth and group.within[number]
        ]
        if not level:
            continue
        for number in level:
            active[number] = group.within[number]
        bound = replace(free, within=tuple(active))
        placed, certain = _find_out(problem, bound, steps)
        if not placed:
            return _blame(problem, bound, level, steps, certain=certain)
    # Each level for itself leaves a way: only a search that is bounded says that there is none.
    return Shortage("", "no way was found to place all of its groups", 0)


def _find_out(problem: NestedProblem, group: LinkedGroup, steps: SearchSteps) -> tuple[bool, bool]:
    """Return whether another tree finds places, and if not whether there are none for certain."""
    room = problem.room
    mark = room.mark()
    given = SearchSteps(max(min(steps.left, STEPS), len(group.names) * 4))
    found, certain = replace(problem, group=group, hints={}).search_places(given)
    room.undo(mark)
    return found is not None, certain


def _count_placed(problem: NestedProblem, free: LinkedGroup) -> int:
    """Return how many tasks fit if groups do not matter, the largest first."""
    room, placed = problem.room, 0
    mark = room.mark()
    for part in sorted(range(len(problem.shape_of)), key=lambda part: -room.size[problem.shape_of[part]]):
        shape = problem.shape_of[part]
        slots = room.slots[shape]
        rows = np.argsort(slots, kind="stable")
        count = np.clip(free.part_count[part] - (np.cumsum(slots[rows]) - slots[rows]), 0, slots[rows])
        room.take(shape, rows[count > 0], count[count > 0])
        placed += int(count.sum())
    room.undo(mark)
    return placed


def _blame(
    problem: NestedProblem, group: LinkedGroup, level: Sequence[int], steps: SearchSteps, *, certain: bool
) -> Shortage:
    """Return which groups of a level stand in the way: one without whose labels the others have places, or all.

    ``certain``: there is no placement, rather than that none was found.
    """
    alone = []
    for number in level[:BLAMED] if len(level) > 1 else level:
        within = list(group.within)
        within[number] = ()
        if _find_out(problem, replace(group, within=tuple(within)), steps)[0]:
            alone.append(number)
    named = alone[:1] or list(level)
    labels = sorted({problem.domains.keys[key] for number in named for key in group.within[number]})
    where = f"level {group.depth[level[0]] + 1} ({', '.join(labels)})"
    if not alone:
        # Several stand in the way, each of which may have no place for itself, whatever becomes of the others.
        named = [number for number in level[:BLAMED] if _is_too_large(problem, group, number)][:1] or named
    if not alone and len(named) > 1:
        way = "there is no way" if certain else "no way was found"
        words = f"{where}: {way} to give each of its {len(level)} groups one domain with room for all of it"
        return Shortage(where, words, 0)
    number = named[0]
    size = _count_tasks(group, number)
    pods = format_number(size, "pod")
    most, value = min(
        (_count_in_domain(problem, group, number, key) for key in group.within[number]), default=(0, "")
    )
    if value:
        words = f"{where}: group {group.names[number]} runs in {value}, and needs room there for its {pods}"
        return Shortage(where, f"{words}, which takes {min(most, size)}", most)
    words = f"{where}: group {group.names[number]} needs one domain with room for its {pods}"
    return Shortage(where, f"{words}, the roomiest takes {min(most, size)}", most)


def _is_too_large(problem: NestedProblem, group: LinkedGroup, number: int) -> bool:
    """Return whether no domain of one of its labels takes all of a group, even without the other groups."""
    size = _count_tasks(group, number)
    return any(_count_in_domain(problem, group, number, key)[0] < size for key in group.within[number])


def _list_subtree(group: LinkedGroup, number: int) -> list[int]:
    found = [number]
    for each in found:
        found += group.children[each]
    return found


def _count_tasks(group: LinkedGroup, number: int) -> int:
    """Return how many tasks a group and those in it place."""
    parts = [part for each in _list_subtree(group, number) for part in group.parts[each]]
    return int(group.part_count[parts].sum())


def _count_in_domain(problem: NestedProblem, group: LinkedGroup, number: int, key: int) -> tuple[int, str]:
    """Return how many tasks of a group the roomiest domain of a label takes, whatever the groups in it ask for.

    If it has tasks on machines only the domain counts in which most of these are, which is returned, too; else "".
    """
    parts = [part for each in _list_subtree(group, number) for part in group.parts[each]]
    best, room = 0, problem.room
    code = problem.domains.code[key]
    held = code[list(group.held[number])]
    held = held[held >= 0]
    values = [int(np.bincount(held).argmax())] if len(held) else np.unique(code[code >= 0]).tolist()
    for value in values:
        inside = np.flatnonzero(code == value)
        mark, placed = room.mark(), 0
        for part in sorted(parts, key=lambda part: -room.size[problem.shape_of[part]]):
            slots = room.slots[problem.shape_of[part], inside]
            count = np.clip(group.part_count[part] - (np.cumsum(slots) - slots), 0, slots)
            room.take(problem.shape_of[part], inside[count > 0], count[count > 0])
            placed += int(count.sum())
        room.undo(mark)
        best = max(best, placed)
    return best, problem.domains.values[key][values[0]] if len(held) else ""
