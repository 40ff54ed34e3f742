"""Finds the level of labels at which a tree of groups fails, and the smallest sets of labels and resources to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from firmament.core.tree_solver.nested.kinds import describe_marked, number_alike
from firmament.core.tree_solver.nested.problem import STEPS, NestedProblem
from firmament.core.tree_solver.nested.search import SearchSteps
from firmament.core.tree_solver.nested.shortages.domain_room import count_in_domain, count_tasks
from firmament.core.tree_solver.nested.shortages.smallest_sets import SmallestSet, find_smallest_set
from firmament.core.tree_solver.nested.trees import LinkedGroup

TESTS = 64
"""Most tests of sets of labels; each test searches places for the whole tree."""
TESTED_GROUPS = 1_000
"""Most groups in all tests of a tree together; two tests are made in any case."""
RESOURCE_TESTS = 16
"""Most tests of sets of resources; `TESTED_GROUPS` limits these tests as well."""
SIZED = 32
"""Most groups of a level whose size is compared with the domains."""


@dataclass(frozen=True, slots=True)
class Bond:
    """A label that keeps a group together: all tasks of the group must be in one of the label's domains."""

    group: int
    label: int


@dataclass(frozen=True, slots=True)
class LevelReason:
    """The level of groups whose labels leave no places, as the reason why a tree of groups has none.

    Without labels, and with only the labels of the levels below, the tree has places. ``bonds``: a smallest set of
    labels of the level's groups without which the search finds places; ``alone``: those of them that leave no place
    even if no other group of the level has labels. ``resources``: the smallest set of resources, as indices in the
    problem, of which enough everywhere would also give places; () if none is known. ``is_certain``: whether it is
    certain that there is no place.
    """

    bound: LinkedGroup
    level: tuple[Bond, ...]
    bonds: tuple[Bond, ...]
    alone: frozenset[Bond]
    resources: tuple[int, ...]
    is_certain: bool


def find_out(problem: NestedProblem, group: LinkedGroup, steps: SearchSteps) -> tuple[bool, bool]:
    """Return whether the tree ``group`` finds places, and if not, whether it is certain that there are none."""
    room = problem.room
    mark = room.mark()
    given = SearchSteps(max(min(steps.left, STEPS), len(group.names) * 4))
    found, certain = replace(problem, group=group, hints={}).search_places(given)
    room.undo(mark)
    return found is not None, certain


def find_level_reason(problem: NestedProblem, free: LinkedGroup, steps: SearchSteps) -> LevelReason | None:
    """Return the deepest level whose labels, with those of the levels below, leave no place, and why; or None.

    ``free``: the tree without labels.
    """
    group = problem.group
    active = list(free.within)
    for depth in sorted(set(group.depth), reverse=True):
        numbers = [at for at, own in enumerate(group.depth) if own == depth and group.within[at]]
        for number in numbers:
            active[number] = group.within[number]
        bound = replace(free, within=tuple(active))
        if not numbers:
            continue
        placed, certain = find_out(problem, bound, steps)
        if not placed:
            level = tuple(Bond(number, key) for number in numbers for key in group.within[number])
            found = _find_bonds(problem, bound, level, steps)
            return LevelReason(
                bound,
                level,
                tuple(level[each] for each in found.members),
                frozenset(level[each] for each in found.alone),
                find_scarce_resources(problem, bound, steps),
                certain,
            )
    return None


def _find_bonds(
    problem: NestedProblem, bound: LinkedGroup, level: Sequence[Bond], steps: SearchSteps
) -> SmallestSet:
    """Return the smallest set of a level's bonds without which the tree has places, as indices in the level."""
    looks = number_alike(bound, problem.shape_of)

    def helps(dropped: Sequence[int]) -> bool:
        return find_out(problem, drop_bonds(bound, [level[each] for each in dropped]), steps)[0]

    def describe(dropped: Sequence[int]) -> tuple[object, ...]:
        marks: dict[int, list[int]] = {}
        for each in dropped:
            marks.setdefault(level[each].group, []).append(level[each].label)
        return describe_marked(bound, looks, marks)

    large = [at for at, bond in enumerate(level[:SIZED]) if _is_too_large(problem, bound, bond)]
    return find_smallest_set(len(level), helps, describe, count_tests(bound), large)


def drop_bonds(group: LinkedGroup, bonds: Sequence[Bond]) -> LinkedGroup:
    """Return a tree in which some groups do not have some of their labels."""
    within = list(group.within)
    for bond in bonds:
        within[bond.group] = tuple(key for key in within[bond.group] if key != bond.label)
    return replace(group, within=tuple(within))


def count_tests(group: LinkedGroup) -> int:
    """Return how many tests of sets of a tree's rules may be made."""
    return max(2, min(TESTS, TESTED_GROUPS // len(group.names)))


def find_scarce_resources(problem: NestedProblem, group: LinkedGroup, steps: SearchSteps) -> tuple[int, ...]:
    """Return the smallest set of resources of which enough on every machine would give a tree places.

    The resources are indices in the problem. The result is () if no set of resources explains the failure, or if too
    many tests would be needed to find one.
    """
    room = problem.room
    asked = np.flatnonzero(room.requests.any(axis=0)).tolist()
    tasks = int(group.part_count.sum())

    def helps(plentiful: Sequence[int]) -> bool:
        relaxed = replace(problem, room=room.with_plenty([asked[each] for each in plentiful], tasks))
        return find_out(relaxed, group, steps)[0]

    every = range(len(asked))
    if not room.resources or not asked or not helps(every):
        return ()
    tests = max(2, min(RESOURCE_TESTS, TESTED_GROUPS // len(group.names)))
    found = find_smallest_set(len(asked), helps, tuple, tests)
    return tuple(asked[each] for each in found.members)


def _is_too_large(problem: NestedProblem, group: LinkedGroup, bond: Bond) -> bool:
    """Return whether no domain of a label takes all tasks of a group, even without the other groups."""
    return count_in_domain(problem, group, bond.group, bond.label)[0] < count_tasks(group, bond.group)
