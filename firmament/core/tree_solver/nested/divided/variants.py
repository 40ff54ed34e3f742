"""Builds trees in which each share of a group's members is a group of its own, in a domain of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from firmament.core.tree_solver.nested.divided.choices import DivisionChoice
from firmament.core.tree_solver.nested.divided.members import FoundMembers
from firmament.core.tree_solver.nested.trees import Division, LinkedGroup, NestedDomains


@dataclass(frozen=True, slots=True)
class ChosenDivision:
    """A division by a rule, with the members of its group, and the choice how they are divided."""

    division: Division
    found: FoundMembers
    choice: DivisionChoice


@dataclass(frozen=True, slots=True)
class Variant:
    """A tree without the first division of each group; ``part_of``: for each of its parts, the original tree's part."""

    group: LinkedGroup
    part_of: tuple[int, ...]


def build_variant(
    group: LinkedGroup, domains: NestedDomains, chosen: Mapping[int, ChosenDivision]
) -> Variant:
    """Return the tree in which groups are divided as in ``chosen`` (by group).

    Members that find no place in the choice are not in this tree.
    """
    return _Builder(group, domains, chosen).build()


class _Builder:
    """Lists the groups and parts of a variant of a tree; parents come before the groups in them."""

    def __init__(
        self, group: LinkedGroup, domains: NestedDomains, chosen: Mapping[int, ChosenDivision]
    ) -> None:
        self._group, self._domains, self._chosen = group, domains, chosen
        self._names: list[str] = []
        self._parent: list[int] = []
        self._least: list[int] = []
        self._within: list[tuple[int, ...]] = []
        self._rather: list[tuple[int, ...]] = []
        self._apart: list[bool] = []
        self._parts: list[tuple[int, int, int]] = []  # original part, group, number of tasks
        self._held: list[tuple[int, int]] = []  # group, machine
        self._asked: list[tuple[int, int]] = []  # group, machine
        self._divided: list[Division] = []
        self._asked_tasks: list[list[int]] = [[] for _ in group.names]
        for at, machine in zip(group.asked_group.tolist(), group.asked_machine.tolist(), strict=True):
            self._asked_tasks[at].append(machine)
        self._tasks: list[list[int]] = [[] for _ in group.names]
        for at, machine in zip(group.held_group.tolist(), group.held_machine.tolist(), strict=True):
            self._tasks[at].append(machine)

    def build(self) -> Variant:
        for root in self._group.roots:
            self._add_group(root, -1)
        group = self._group
        parts = sorted(self._parts, key=lambda part: bool(group.part_to_come[part[0]]))
        part_of = [part for part, _, _ in parts]
        variant = replace(
            group,
            names=tuple(self._names),
            parent=np.array(self._parent, dtype=np.int64),
            least=np.array(self._least, dtype=np.int64),
            within=tuple(self._within),
            rather_within=tuple(self._rather),
            apart=tuple(self._apart),
            part_class=group.part_class[part_of],
            part_group=np.array([at for _, at, _ in parts], dtype=np.int64),
            part_count=np.array([count for _, _, count in parts], dtype=np.int64),
            part_to_come=group.part_to_come[part_of],
            held_group=np.array([at for at, _ in self._held], dtype=np.int64),
            held_machine=np.array([machine for _, machine in self._held], dtype=np.int64),
            divided=tuple(self._divided),
            asked_group=np.array([at for at, _ in self._asked], dtype=np.int64),
            asked_machine=np.array([machine for _, machine in self._asked], dtype=np.int64),
        )
        return _leave_out_incomplete(Variant(variant, tuple(part_of)))

    def _append(
        self,
        name: str,
        parent: int,
        least: int,
        within: Sequence[int],
        number: int,
        *,
        apart: bool = False,
    ) -> int:
        """Add a group, with the preferred labels of the original group ``number``; return its number in the variant."""
        self._names.append(name)
        self._parent.append(parent)
        self._least.append(least)
        self._within.append(tuple(within))
        self._rather.append(self._group.rather_within[number])
        self._apart.append(apart)
        return len(self._names) - 1

    def _add_group(self, number: int, parent: int) -> None:
        group = self._group
        chosen = self._chosen.get(number)
        if chosen is not None and not chosen.choice.keeps_rule and group.children[number]:
            self._add_kept(number, parent, chosen.found)
            return
        if chosen is not None:
            self._add_divided(number, parent)
            return
        name, least, within = group.names[number], int(group.least[number]), group.within[number]
        own = self._append(name, parent, least, within, number, apart=group.apart[number])
        for child in group.children[number]:
            self._add_group(child, own)
        self._parts += [(part, own, int(group.part_count[part])) for part in group.parts[number]]
        self._held += [(own, machine) for machine in self._tasks[number]]
        self._asked += [(own, machine) for machine in self._asked_tasks[number]]

    def _add_kept(self, number: int, parent: int, found: FoundMembers) -> None:
        """Add a group with those groups in it that are in domains already, and stay there."""
        group = self._group
        name, least, within = group.names[number], int(group.least[number]), group.within[number]
        own = self._append(name, parent, least, within, number, apart=group.apart[number])
        labels = [each.label for each in group.divided if each.group == number]
        for child in (each for inside in found.held.values() for each in inside):
            place = len(self._names)
            self._add_group(child, own)
            self._within[place] = tuple(dict.fromkeys((*self._within[place], *labels)))

    def _add_divided(self, number: int, parent: int) -> None:
        """Add a group that contains one group for each share of its members."""
        group, chosen = self._group, self._chosen[number]
        choice, found, label = chosen.choice, chosen.found, chosen.division.label
        name = group.names[number]
        least = len(choice.shares) + (not choice.is_whole)
        own = self._append(name, parent, least, group.within[number], number, apart=True)
        of_groups = bool(group.children[number])
        given = [0] * len(found.kinds)
        place_of: dict[int, int] = {}
        code = self._domains.code[label]
        asked = Counter(int(code[machine]) for machine in self._asked_tasks[number])
        for index, share in enumerate(choice.shares):
            inside = [*found.held.get(share.domain, ())]
            for kind, count in enumerate(share.new):
                if of_groups:
                    inside += found.kinds[kind][given[kind] : given[kind] + count]
                    given[kind] += count
            needed = share.size - asked[share.domain]
            if of_groups:
                needed = len([each for each in inside if each not in found.stuck])
            place = self._append(f"part {index + 1} of {name}", own, needed, (label,), number)
            if share.domain >= 0:
                place_of[share.domain] = place
            # If members join the group, its present members must obey the group's further rules, too.
            self._divided += [
                Division(place, each.label, each.rule, binds_held=choice.keeps_rule)
                for each in self._list_further(number)
            ]
            for child in inside:
                self._add_group(child, place)
            if not of_groups:
                counts = zip(found.kinds, share.new, strict=True)
                self._parts += [(part, place, count) for (part,), count in counts if count]
        for tasks, booked in ((self._tasks, self._held), (self._asked_tasks, self._asked)):
            booked += [(place_of.get(int(code[machine]), own), machine) for machine in tasks[number]]

    def _list_further(self, number: int) -> list[Division]:
        """Return the divisions of a group beyond the first; they divide each of its shares."""
        return [each for each in self._group.divided if each.group == number][1:]


def _leave_out_incomplete(variant: Variant) -> Variant:
    """Return a variant without the waiting tasks of groups that cannot get what they or the groups above them need."""
    group = variant.group
    there = np.bincount(group.held_group, minlength=len(group.names))
    np.add.at(there, group.part_group, group.part_count)
    whole = group.find_whole(there.tolist())
    for number, parent in enumerate(group.parent.tolist()):
        whole[number] &= parent < 0 or whole[parent]
    if all(whole):
        return variant
    kept = np.array(whole)[group.part_group]
    rest = replace(
        group,
        part_class=group.part_class[kept],
        part_group=group.part_group[kept],
        part_count=group.part_count[kept],
        part_to_come=group.part_to_come[kept],
    )
    return Variant(rest, tuple(part for part, stays in zip(variant.part_of, kept, strict=True) if stays))
