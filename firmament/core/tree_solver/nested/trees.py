"""Trees of groups of a round, as arrays: which group is in which, what each needs, and where its tasks may go."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64


@dataclass(frozen=True, slots=True)
class NestedDomains:
    """Labels of machines by which groups keep together.

    ``keys``: names of the labels; ``code``: int64[Y, M], the number of each machine's value, -1 if it has none;
    ``values``: by key the values, by number.
    """

    keys: tuple[str, ...]
    code: Int64
    values: tuple[tuple[str, ...], ...]


NO_DOMAINS = NestedDomains((), np.empty((0, 0), dtype=np.int64), ())


@dataclass(frozen=True, slots=True)
class NestedGroup:
    """A tree of groups whose tasks are placed together.

    Its G groups are in an order in which parents come first; of its waiting tasks P parts are told apart, by class and
    group. Groups of groups hold no tasks themselves.
    """

    name: str
    """What people call it."""
    names: tuple[str, ...]
    """Names of the groups."""
    parent: Int64
    """int64[G], number of the group that each is in, -1 for roots."""
    least: Int64
    """int64[G], tasks, or groups in it, that go together or not at all, those that are there already included."""
    within: tuple[tuple[int, ...], ...]
    """By group the labels (rows of `NestedDomains`) of which all of its tasks share one value."""
    rather_within: tuple[tuple[int, ...], ...]
    """The same as a wish."""
    apart: tuple[bool, ...]
    """By group whether no two groups in it share a domain."""
    part_class: Int64
    """int64[P], class of the problem."""
    part_group: Int64
    """int64[P], group."""
    part_count: Int64
    """int64[P], waiting tasks."""
    part_to_come: Bool
    """bool[P], whether these tasks do not exist yet: room is found for them, but they are not placed. Such parts come
    last.
    """
    held_group: Int64
    """int64[H], group of each task that is on a machine already."""
    held_machine: Int64
    """int64[H], that machine."""
    order: Int64
    """int64[N], class of the problem of each waiting task."""
    refused: str = ""
    """Why it cannot be placed at all, "" if it can."""
    fewest: int = 0
    """Waiting tasks that are placed together, whatever groups they are in; the groups may need more."""

    def looks(self) -> tuple[object, ...]:
        """Return equal for trees that differ in nothing but what they are called and which tasks they have."""
        return (
            self.parent.tobytes(),
            self.least.tobytes(),
            self.within,
            self.rather_within,
            self.apart,
            self.part_group.tobytes(),
            self.part_count.tobytes(),
            self.part_to_come.tobytes(),
            self.held_group.tobytes(),
            self.held_machine.tobytes(),
            self.fewest,
        )


@dataclass(frozen=True)
class LinkedGroup(NestedGroup):
    """A tree, and what follows from it, which is computed when it is first asked for."""

    @classmethod
    def link(cls, group: NestedGroup) -> LinkedGroup:
        """Return a tree as one of these."""
        return cls(**{each.name: getattr(group, each.name) for each in fields(group)})

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Return by group those in it."""
        inside: list[list[int]] = [[] for _ in self.names]
        for number, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                inside[parent].append(number)
        return tuple(map(tuple, inside))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Return the groups that are in none."""
        return tuple(np.flatnonzero(self.parent < 0).tolist())

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Return by group the parts of its own tasks."""
        found: list[list[int]] = [[] for _ in self.names]
        for number, group in enumerate(self.part_group.tolist()):
            found[group].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """Return by group how many are above it."""
        found: list[int] = []
        for parent in self.parent.tolist():
            found.append(found[parent] + 1 if parent >= 0 else 0)
        return tuple(found)

    @cached_property
    def held(self) -> tuple[tuple[int, ...], ...]:
        """Return by group the machines of the tasks that it and those in it have already."""
        found: list[list[int]] = [[] for _ in self.names]
        for group, machine in zip(self.held_group.tolist(), self.held_machine.tolist(), strict=True):
            at = group
            while at >= 0:
                found[at].append(machine)
                at = int(self.parent[at])
        return tuple(map(tuple, found))
