"""Places all groups that share a domain together: domains for those that need one, then each domain by itself.

What is to be placed on some machines is a set of items: groups that still need one domain of some label, and tasks. The
groups get domains by what these have in all (`DomainChoice`); then each domain with its groups is a problem of its own,
down to tasks on single machines. If one cannot be solved, it counts as smaller, and the groups choose again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.tree_solver.domain_choice import DomainChoice
from firmament.core.tree_solver.nested import LinkedGroup, NestedDomains
from firmament.core.tree_solver.nested_counts import sum_by_shape
from firmament.core.tree_solver.nested_room import NestedRoom

Item: TypeAlias = tuple[int, int]
"""A group, and how many of its labels are settled."""
Booked: TypeAlias = list[tuple[int, Int64, Int64]]
"""Part, machines and counts."""

CHOICES = 24
"""Choices of domains for one set of groups."""
PACKINGS = 12
"""Orders in which tasks are put on machines."""
SHRINK = 0.985
"""What is left of the room of a domain whose groups did not fit it."""


@dataclass(slots=True)
class Effort:
    """``left``: what may still be spent, in items that are looked at."""

    left: int


class JointPacking:
    """A packing of one tree, of so many tasks of each part (``counts``), on ``room``, which is booked."""

    def __init__(
        self,
        group: LinkedGroup,
        domains: NestedDomains,
        room: NestedRoom,
        shape_of: Sequence[int],
        counts: Sequence[int],
        effort: Effort,
        *,
        wishes: bool,
    ) -> None:
        self._group, self._domains, self._room = group, domains, room
        self._shape_of, self._counts, self._effort = shape_of, counts, effort
        wish = group.rather_within if wishes else [()] * len(group.names)
        self._keys = [(*hard, *soft[:1]) for hard, soft in zip(group.within, wish, strict=True)]
        self._random = np.random.default_rng(len(group.names))
        self._demand = sum_by_shape(group, shape_of, counts)

    def pack_all(self) -> Booked | None:
        """Return places for all of it, booked; or None, and nothing is booked."""
        roots = [(root, 0) for root in self._group.roots]
        return self._solve_items(roots, np.arange(self._room.slots.shape[1]))

    # --- sets of items -------------------------------------------------------------------------------------------

    def _solve_items(self, items: Sequence[Item], where: Int64) -> Booked | None:
        bound, parts = self._unfold(items)
        self._effort.left -= 1 + len(bound)
        if not bound:
            return self._pack(parts, where)
        key = self._find_coarsest(bound, where)
        now = [
            item for item in bound if self._next(item) == key or self._lies_in(self._next(item), key, where)
        ]
        later = [item for item in bound if item not in now]
        mark = self._room.mark()
        found = self._share_out(now, key, where)
        if found is None:
            return None
        rest = self._solve_items([*later], where) if later else []
        more = self._pack(parts, where) if rest is not None and parts else []
        if rest is None or more is None:
            self._room.undo(mark)
            return None
        return found + rest + more

    def _unfold(self, items: Sequence[Item]) -> tuple[list[Item], list[int]]:
        """Return the groups that need a domain of some label, and the parts whose tasks may go anywhere."""
        bound: list[Item] = []
        parts: list[int] = []
        todo = list(items)
        while todo:
            number, settled = todo.pop()
            if not self._demand[number] or not any(self._demand[number].values()):
                continue
            if settled < len(self._keys[number]):
                bound.append((number, settled))
            elif self._group.children[number]:
                todo += [(child, 0) for child in self._group.children[number]]
            else:
                parts += self._group.parts[number]
        return sorted(bound), parts

    def _next(self, item: Item) -> int:
        return self._keys[item[0]][item[1]]

    def _find_coarsest(self, bound: Sequence[Item], where: Int64) -> int:
        keys = sorted({self._next(item) for item in bound})
        sizes = [len(np.unique(self._domains.code[key][where])) for key in keys]
        return keys[int(np.argmin(sizes))]

    def _lies_in(self, fine: int, coarse: int, where: Int64) -> bool:
        """Return whether each domain of one label lies in one of another."""
        small, large = self._domains.code[fine][where], self._domains.code[coarse][where]
        known = small >= 0
        pairs = np.unique(np.stack([small[known], large[known]]), axis=1)
        return len(pairs[0]) == len(np.unique(pairs[0])) and bool((pairs[1] >= 0).all())

    # --- groups to domains ---------------------------------------------------------------------------------------

    def _share_out(self, items: Sequence[Item], key: int, where: Int64) -> Booked | None:
        """Give each item a domain of a label, and solve these; all or nothing."""
        codes = self._domains.code[key][where]
        values = np.unique(codes[codes >= 0])
        if not len(values):
            return None
        machines = [where[codes == value] for value in values.tolist()]
        choice = self._describe(items, key, values, machines)
        solved: dict[tuple[int, tuple[int, ...]], Booked | None] = {}
        for turn in range(CHOICES):
            order = None
            if turn % 4 == 3:
                noise = self._random.uniform(0.5, 1.5, len(items))
                order = np.argsort(-choice.demand.max(axis=1) * noise, kind="stable")
            at = choice.choose_domains(60 + 6 * len(items), order)
            if at is None:
                if turn == 0 or self._effort.left <= 0:
                    return None
                continue
            failed = self._solve_each(items, key, machines, at, solved)
            if not failed:
                return self._book_all(at, solved)
            choice.room[failed] *= SHRINK
            if self._effort.left <= 0:
                return None
        return None

    def _solve_each(
        self,
        items: Sequence[Item],
        key: int,
        machines: Sequence[Int64],
        at: Int64,
        solved: dict[tuple[int, tuple[int, ...]], Booked | None],
    ) -> list[int]:
        """Solve the domains that have not been solved with just these items; returns those that cannot be."""
        failed = []
        for domain in np.unique(at).tolist():
            inside = tuple(np.flatnonzero(at == domain).tolist())
            if (domain, inside) not in solved:
                mark = self._room.mark()
                advanced = [
                    (items[index][0], items[index][1] + (self._next(items[index]) == key)) for index in inside
                ]
                solved[domain, inside] = self._solve_items(advanced, machines[domain])
                self._room.undo(mark)
            if solved[domain, inside] is None:
                failed.append(domain)
        return failed

    def _book_all(self, at: Int64, solved: dict[tuple[int, tuple[int, ...]], Booked | None]) -> Booked:
        found: Booked = []
        for domain in np.unique(at).tolist():
            found += solved[domain, tuple(np.flatnonzero(at == domain).tolist())] or []
        for part, rows, counts in found:
            self._room.take(self._shape_of[part], rows, counts)
        return found

    def _describe(
        self, items: Sequence[Item], key: int, values: Int64, machines: Sequence[Int64]
    ) -> DomainChoice:
        room, group = self._room, self._group
        shapes = sorted({shape for number, _ in items for shape in self._demand[number]})
        counts = np.array(
            [[self._demand[number].get(shape, 0) for shape in shapes] for number, _ in items], dtype=np.int64
        )
        demand = (counts @ room.requests[shapes]).astype(np.float64)
        unit = [gcd(*room.requests[shapes, column].tolist()) for column in range(room.requests.shape[1])]
        steps = np.maximum(np.array(unit, dtype=np.int64), 1)[:, None]
        free = np.stack(
            [(np.maximum(room.free[:, rows], 0) // steps * steps).sum(axis=1) for rows in machines]
        )
        able: Bool = np.ones((len(items), len(machines)), dtype=np.bool_)
        for place, rows in enumerate(machines):
            slots = room.slots[shapes][:, rows]
            for index in range(len(items)):
                needed = counts[index][:, None]
                able[index, place] = bool((np.minimum(slots, needed).sum(axis=1) >= counts[index]).all())
        code_of = {value: place for place, value in enumerate(values.tolist())}
        for index, item in enumerate(items):
            if self._next(item) != key:
                continue
            held = self._domains.code[key][list(group.held[item[0]])]
            held = held[held >= 0]
            if len(held):
                only = code_of.get(int(np.bincount(held).argmax()), -1)
                able[index] &= np.arange(len(machines)) == only
        self._keep_apart(items, key, able, code_of)
        scale = np.maximum(free.max(axis=0, initial=0), 1)
        parents = [int(group.parent[number]) for number, _ in items]
        apart = [
            parent if parent >= 0 and group.apart[parent] and self._next(item) == key else -1
            for parent, item in zip(parents, items, strict=True)
        ]
        asked = demand.any(axis=0)
        relative: Float64 = free[:, asked] / scale[asked]
        return DomainChoice(
            demand[:, asked] / scale[asked], relative, able, np.array(apart, dtype=np.int64), self._random
        )

    def _keep_apart(self, items: Sequence[Item], key: int, able: Bool, code_of: dict[int, int]) -> None:
        """Close the domains to items in which groups are that run already, and from which they are to be apart."""
        group = self._group
        for index, (number, _) in enumerate(items):
            parent = int(group.parent[number])
            if parent < 0 or not group.apart[parent]:
                continue
            for sibling in group.children[parent]:
                if sibling != number:
                    held = np.unique(self._domains.code[key][list(group.held[sibling])])
                    able[index, [code_of[code] for code in held.tolist() if code in code_of]] = False

    # --- tasks to machines ---------------------------------------------------------------------------------------

    def _pack(self, parts: Sequence[int], where: Int64) -> Booked | None:
        """Put the tasks of some parts on machines, the largest first; all or none."""
        room = self._room
        parts = [part for part in parts if self._counts[part]]
        size = np.array([room.size[self._shape_of[part]] for part in parts], dtype=np.float64)
        self._effort.left -= len(parts)
        for turn in range(PACKINGS if len(parts) > 1 else 3):
            weight = size if turn < 3 else size * self._random.uniform(0.7, 1.3, len(parts))
            mark, booked = room.mark(), []
            for index in np.argsort(-weight, kind="stable").tolist():
                taken = self._put(parts[index], where, turn % 3)
                if taken is None:
                    break
                booked.append(taken)
            if len(booked) == len(parts):
                return booked
            room.undo(mark)
        return None

    def _put(self, part: int, where: Int64, style: int) -> tuple[int, Int64, Int64] | None:
        shape, count = self._shape_of[part], self._counts[part]
        slots = self._room.slots[shape, where]
        open_to = slots > 0
        machines, slots = where[open_to], slots[open_to]
        if int(slots.sum()) < count:
            return None
        cost = self._room.cost[shape, machines]
        if style == 0:
            order = np.lexsort((cost, slots))
        else:
            waste = np.round(self._room.find_waste(shape, machines), 6)
            order = np.lexsort((cost, slots, waste) if style == 1 else (cost, waste, -slots))
        machines, slots = machines[order], slots[order]
        counts = np.clip(count - (np.cumsum(slots) - slots), 0, slots)
        machines, counts = machines[counts > 0], counts[counts > 0]
        self._room.take(shape, machines, counts)
        return part, machines, counts
