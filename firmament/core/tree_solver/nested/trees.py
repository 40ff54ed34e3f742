"""Defines a round's trees of groups as arrays: which group is in which, what each needs, and where its tasks may go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.tree_solver.tree import Rule


@dataclass(frozen=True, slots=True)
class NestedDomains:
    """The labels of machines in whose domains groups are kept together.

    ``keys``: names of the labels; ``code``: int64[Y, M], the number of each machine's value of a label, -1 if it has
    none; ``values``: for each label, its values by number.
    """

    keys: tuple[str, ...]
    code: Int64
    values: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Division:
    """A rule about how the members of a group (its tasks, or the groups in it) are divided over domains.

    ``label``: the label (row of `NestedDomains`) of the domains. A group inside the divided group stays in one domain
    as a whole. ``binds_held``: if True, members that break the rule on their machines may not stay, even if no other
    member joins them.
    """

    group: int
    label: int
    rule: Rule
    binds_held: bool = False


_NOBODY = np.empty(0, dtype=np.int64)

NO_DOMAINS = NestedDomains((), np.empty((0, 0), dtype=np.int64), ())


@dataclass(frozen=True, slots=True)
class NestedGroup:
    """A tree of groups whose tasks are placed together.

    It has G groups; parents come before the groups in them. The group's waiting tasks form P parts; a part consists
    of tasks of one class and one group. A group that contains groups has no tasks of its own.
    """

    name: str
    """The name of the gang, for people."""
    names: tuple[str, ...]
    """Names of the groups."""
    parent: Int64
    """int64[G], the number of the group that contains each group, -1 for roots."""
    least: Int64
    """int64[G], how many tasks, or groups, each group needs to be whole, including those that are on machines."""
    within: tuple[tuple[int, ...], ...]
    """For each group, the labels (rows of `NestedDomains`) whose value all its tasks must share."""
    rather_within: tuple[tuple[int, ...], ...]
    """For each group, the labels whose value all its tasks should share if possible."""
    apart: tuple[bool, ...]
    """For each group, whether the groups in it must be in different domains of their labels."""
    part_class: Int64
    """int64[P], the problem's class of each part."""
    part_group: Int64
    """int64[P], the group of each part."""
    part_count: Int64
    """int64[P], the number of waiting tasks of each part."""
    part_to_come: Bool
    """bool[P], whether the tasks of a part do not exist yet.

    Parts of tasks that do not exist yet come last. The search finds places for the future tasks, but they are not
    placed.
    """
    held_group: Int64
    """int64[H], the group of each task that is on a machine already."""
    held_machine: Int64
    """int64[H], the machine of each task that is on a machine already."""
    order: Int64
    """int64[N], the problem's class of each waiting task."""
    refused: str = ""
    """Why the tree cannot be placed at all; "" if it can."""
    fewest: int = 0
    """The fewest waiting tasks that may be placed, of all groups together; the groups may need more."""
    divided: tuple[Division, ...] = ()
    """The rules by which members of groups are divided over domains.
    A second rule of a group divides the members that share a domain by its first rule, and so on.
    """
    asked_group: Int64 = field(default_factory=lambda: _NOBODY)
    """int64[A], the group of each task that has been asked to leave its machine; such a task may stay after all.

    A task that has been asked to leave counts in its domain, but not as a task that its group needs.
    """
    asked_machine: Int64 = field(default_factory=lambda: _NOBODY)
    """int64[A], the machine of each task that has been asked to leave."""

    def make_key(self) -> tuple[object, ...]:
        """Return a key that is equal for trees that differ only in names and classes."""
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
            self.divided,
            self.asked_group.tobytes(),
            self.asked_machine.tobytes(),
        )


_FIELDS = tuple(each.name for each in fields(NestedGroup))


@dataclass(frozen=True)
class LinkedGroup(NestedGroup):
    """A tree of groups, with derived properties that are computed when they are first used."""

    @classmethod
    def link(cls, group: NestedGroup, like: LinkedGroup | None = None) -> LinkedGroup:
        """Return a `LinkedGroup` with the fields of ``group``.

        ``like``: a group that is equal but for names and classes; what has been derived for it holds for the new group,
        too.
        """
        own = {name: getattr(group, name) for name in _FIELDS}
        linked = cls(**own)
        if like is not None:
            vars(linked).update({**vars(like), **own})
        return linked

    def find_whole(self, have: Sequence[int]) -> list[bool]:
        """Return for each group whether it has enough members, if the groups have ``have`` tasks of their own."""
        whole = [False] * len(self.names)
        least = self.least.tolist()
        for number in reversed(range(len(whole))):
            inside = self.children[number]
            count = sum(whole[child] for child in inside) if inside else have[number]
            whole[number] = count >= least[number]
        return whole

    @cached_property
    def have(self) -> tuple[int, ...]:
        """For each group, how many tasks of its own stay on machines."""
        return tuple(np.bincount(self.held_group, minlength=len(self.names)).tolist())

    @cached_property
    def whole(self) -> tuple[bool, ...]:
        """For each group, whether it has what it needs on machines already."""
        return tuple(self.find_whole(self.have))

    @cached_property
    def completable(self) -> tuple[bool, ...]:
        """For each group, whether it can have as many members as it needs once its waiting tasks are placed.

        Tasks that do not exist yet can complete a group that has tasks; a group of such tasks alone does not count.
        """
        known, counts = (~self.part_to_come).tolist(), self.part_count.tolist()
        there = [
            sum(counts[part] for part in own) if any(known[part] for part in own) else 0 for own in self.parts
        ]
        return tuple(self.find_whole([held + more for held, more in zip(self.have, there, strict=True)]))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each group, the groups that it contains directly."""
        inside: list[list[int]] = [[] for _ in self.names]
        for number, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                inside[parent].append(number)
        return tuple(map(tuple, inside))

    def list_subtree(self, number: int) -> list[int]:
        """Return a group and all groups in it."""
        found = [number]
        for each in found:
            found += self.children[each]
        return found

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The groups that no other group contains."""
        return tuple(np.flatnonzero(self.parent < 0).tolist())

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """For each group, the parts of its own tasks."""
        found: list[list[int]] = [[] for _ in self.names]
        for number, group in enumerate(self.part_group.tolist()):
            found[group].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """For each group, the number of groups above it."""
        found: list[int] = []
        for parent in self.parent.tolist():
            found.append(found[parent] + 1 if parent >= 0 else 0)
        return tuple(found)

    @cached_property
    def asked(self) -> tuple[int, ...]:
        """For each group, how many tasks of it and of the groups in it have been asked to leave their machines."""
        found = np.bincount(self.asked_group, minlength=len(self.names)).tolist()
        for number in reversed(range(len(found))):
            if self.parent[number] >= 0:
                found[self.parent[number]] += found[number]
        return tuple(found)

    @cached_property
    def held(self) -> tuple[tuple[int, ...], ...]:
        """For each group, the machines of tasks that it and the groups in it have on machines already.
        Tasks that have been asked to leave are included.
        """
        found: list[list[int]] = [[] for _ in self.names]
        groups = [*self.held_group.tolist(), *self.asked_group.tolist()]
        machines = [*self.held_machine.tolist(), *self.asked_machine.tolist()]
        for group, machine in zip(groups, machines, strict=True):
            at = group
            while at >= 0:
                found[at].append(machine)
                at = int(self.parent[at])
        return tuple(map(tuple, found))
