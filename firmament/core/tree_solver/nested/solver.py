"""Places a tree of groups, or says which of its groups cannot be placed.

The natural order is tried first, which suffices as long as there is much room; then all groups are placed jointly; then
many other orders are tried. If not all tasks can be placed, those that the groups need are placed, and more where there
is room.
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
"""The orders (turns of `NestedSearch`) that are tried last."""
STEPS = 3_000
"""The most steps of one search."""
FIRST_STEPS = 4
"""The most steps per group of the search in the natural order."""
EFFORT = 4_000
"""The most effort of a joint packing."""
BLAMED = 32
"""The most groups of a level that are tested one by one when the rules of the level cannot be kept."""
BLAMED_GROUPS = 1_000
"""The most groups in all these tests, each of which searches places for the whole tree; one group is tested anyway."""


@dataclass(frozen=True, slots=True)
class NestedProblem:
    """A tree of groups, and the room for its tasks.

    ``shape_of``: for each part, its shape in ``room``, in which places that are found are booked; ``hints``: as in
    `NestedSearch`.
    """

    group: LinkedGroup
    domains: NestedDomains
    room: NestedRoom
    shape_of: Sequence[int]
    hints: Hints = field(default_factory=dict)

    def find_places(self, steps: SearchSteps) -> NestedPlaces | None:
        """Return places for all tasks, or else for those that the groups need and as many more as fit; None if none are
        found.
        """
        return self.search_places(steps)[0]

    def search_places(self, steps: SearchSteps) -> tuple[NestedPlaces | None, bool]:
        """Return the result of ``find_places``, and if that is None, whether it is certain that there are no places."""
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
        """Place all tasks by a joint packing or, unless it proves that there are no places, by searches in other
        orders.
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
        """Place ``counts`` tasks of each part by a joint packing.

        Returns whether places were found and booked, and if not, whether it is certain that there are none.
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

        ``least``: count only children of root groups, and only as many as each root needs at least.
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
        """Return whether a group, or one in it, has tasks that run or wait."""
        inside = _list_subtree(self.group, number)
        return bool(self.group.held[number]) or any(self.group.parts[each] for each in inside)

    def has_room_for_all(self) -> bool:
        """Return whether all machines together have slots and resources for all tasks, leaving groups aside."""
        group, room = self.group, self.room
        wanted = np.zeros(len(room.requests), dtype=np.int64)
        for part, shape in enumerate(self.shape_of):
            wanted[shape] += group.part_count[part]
        if (np.minimum(room.slots, wanted[:, None]).sum(axis=1) < wanted).any():
            return False
        return bool((wanted @ room.requests <= np.maximum(room.free, 0).sum(axis=1)).all())


def solve_nested(problem: NestedProblem, steps: SearchSteps) -> NestedPlaces | Shortage:
    """Return places for a tree, or why it has none; ``steps``: those left in the round."""
    given = SearchSteps(max(min(STEPS, steps.left), 4 * len(problem.group.names)))
    before = given.left
    found = problem.find_places(given)
    steps.left -= before - given.left
    return explain_shortage(problem, steps) if found is None else found


# --- Why a tree has no places: the level whose labels cannot be kept and, if it is one alone, the group.


def explain_shortage(problem: NestedProblem, steps: SearchSteps) -> Shortage:
    """Return why a tree finds no places.

    The groups' labels are added level by level, from the tasks up; the first level that leaves no placement is named.
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
    # These searches found places, so only the limit on steps made the first search fail.
    return Shortage("", "no way was found to place all of its groups", 0)


def _find_out(problem: NestedProblem, group: LinkedGroup, steps: SearchSteps) -> tuple[bool, bool]:
    """Return whether the tree ``group`` finds places, and if not, whether it is certain that there are none."""
    room = problem.room
    mark = room.mark()
    given = SearchSteps(max(min(steps.left, STEPS), len(group.names) * 4))
    found, certain = replace(problem, group=group, hints={}).search_places(given)
    room.undo(mark)
    return found is not None, certain


def _count_placed(problem: NestedProblem, free: LinkedGroup) -> int:
    """Return how many tasks fit, the largest first, leaving groups aside."""
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
    """Return a shortage that names the one group without whose labels the tree has places, or else the whole level.

    ``certain``: it is proved that there is no placement.
    """
    few = _find_few_domains(problem, group, level)
    if few is not None:
        return few
    alone = []
    tested = min(BLAMED, max(1, BLAMED_GROUPS // len(group.names)))
    for number in level[:tested] if len(level) > 1 else level:
        within = list(group.within)
        within[number] = ()
        if _find_out(problem, replace(group, within=tuple(within)), steps)[0]:
            alone.append(number)
    named = alone[:1] or list(level)
    labels = sorted({problem.domains.keys[key] for number in named for key in group.within[number]})
    where = f"level {group.depth[level[0]] + 1} ({', '.join(labels)})"
    if not alone:
        # Some group may be too large for every domain even without the other groups.
        named = [number for number in level[:BLAMED] if _is_too_large(problem, group, number)][:1] or named
    if not alone and len(named) > 1:
        way = "there is no way" if certain else "no way was found"
        own = "one domain"
        if any(group.parent[each] >= 0 and group.apart[int(group.parent[each])] for each in level):
            own = "a domain of its own"
        words = f"{where}: {way} to give each of its {len(level)} groups {own} with room for all of it"
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
    if most >= size:
        rest = "but its groups fit into none" if group.children[number] else "but other groups leave it none"
        return Shortage(where, f"{words}, {rest}", most)
    return Shortage(where, f"{words}, the roomiest takes {most}", most)


def _find_few_domains(problem: NestedProblem, group: LinkedGroup, level: Sequence[int]) -> Shortage | None:
    """Return the shortage of a label that has fewer domains than a group has groups that must be apart; None without
    one.
    """
    for parent in sorted({int(group.parent[number]) for number in level}):
        if parent < 0 or not group.apart[parent]:
            continue
        inside = [
            number for number in level if group.parent[number] == parent and _count_tasks(group, number)
        ]
        wanted = len(inside) - (len(group.children[parent]) - int(group.least[parent]))
        for key in sorted({key for number in inside for key in group.within[number]}):
            code = problem.domains.code[key]
            there = len(np.unique(code[code >= 0]))
            if all(key in group.within[number] for number in inside) and there < wanted:
                where = f"level {group.depth[level[0]] + 1} ({problem.domains.keys[key]})"
                words = f"{format_number(wanted, 'group')} of {group.names[parent]} must each have a domain of its own"
                return Shortage(where, f"{where}: {words}, and there {_count_are(there)}", 0)
    return None


def _count_are(count: int) -> str:
    return f"is {count}" if count == 1 else f"are {count}"


def _is_too_large(problem: NestedProblem, group: LinkedGroup, number: int) -> bool:
    """Return whether a group has a label of which no domain takes all its tasks, even without the other groups."""
    size = _count_tasks(group, number)
    return any(_count_in_domain(problem, group, number, key)[0] < size for key in group.within[number])


def _list_subtree(group: LinkedGroup, number: int) -> list[int]:
    found = [number]
    for each in found:
        found += group.children[each]
    return found


def _count_tasks(group: LinkedGroup, number: int) -> int:
    """Return the number of tasks of a group and of the groups in it."""
    parts = [part for each in _list_subtree(group, number) for part in group.parts[each]]
    return int(group.part_count[parts].sum())


def _count_in_domain(problem: NestedProblem, group: LinkedGroup, number: int, key: int) -> tuple[int, str]:
    """Return how many tasks of a group the roomiest domain of a label takes, leaving the groups in it aside.

    If the group has tasks on machines, only the domain with most of these counts, and its value is returned too; else
    "".
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
