"""Searches places for a tree of groups: each group in one domain of each of its labels.

From the roots down, each group takes the tightest domain that may hold it, and the groups in it are placed there, the
largest first. A group that finds no place is moved before its siblings, and the siblings choose again ("squeaky
wheel" optimization, Joslin and Clements 1999). After some turns the group above takes its next domain. If the search
fails in one order of groups, it begins anew in other orders. The number of steps is limited, one for each group that
is tried in a domain, and equal input gives equal results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.tree_solver.nested.counts import sum_by_shape
from firmament.core.tree_solver.nested.few_domains import choose_few_domains
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains

Hints: TypeAlias = dict[tuple[int, int], tuple[Int64, int, Int64]]
"""By (group, label): the machines where a domain was searched, the domain that was found, and its machines there."""

TURNS = 6
"""Most times that the groups in a group choose domains again."""


@dataclass(slots=True)
class SearchSteps:
    """Number of steps that searches may still take (``left``)."""

    left: int


@dataclass(frozen=True, slots=True)
class NestedPlaces:
    """Places of tasks: ``count[i]`` tasks of part ``part[i]`` on machine ``machine[i]``; int64[A] each."""

    part: Int64
    machine: Int64
    count: Int64

    @property
    def tasks(self) -> int:
        """The number of tasks with places."""
        return int(self.count.sum())


class NestedSearch:
    """A search for places of one tree of groups.

    ``shape_of``: for each part, its shape in ``room``. Places that are found are booked in ``room``. ``hints``: domains
    that were found for a tree of the same kind in the same ``room``; they are tried first, and updated.
    """

    def __init__(
        self,
        group: LinkedGroup,
        domains: NestedDomains,
        room: NestedRoom,
        shape_of: Sequence[int],
        steps: SearchSteps,
        hints: Hints,
    ) -> None:
        self.group = group
        self.domains = domains
        self.room = room
        self.steps = steps
        self.shape_of = shape_of
        self.everything = room.everything
        self._hints = hints
        self._least = False
        self._order: list[list[int]] = []
        self._noise: np.random.Generator | None = None
        self._style = 0
        self._chosen: dict[tuple[int, int], int] = {}
        self._taken: list[tuple[int, Int64, Int64]] = []
        self._total = sum_by_shape(group, shape_of, group.part_count.tolist())

    # --- the whole tree -------------------------------------------------------------------------------------------

    def search(self, turns: Sequence[int], *, least: bool = False, limit: int = 0) -> bool:
        """Place all tasks or, with ``least``, those that the groups need; return whether they were placed and booked.

        Each of the ``turns`` uses another order of groups; turn 0 has the natural order. ``limit``: most steps per
        group; 0: all that are left.
        """
        kept = max(0, self.steps.left - limit * len(self.group.names)) if limit else 0
        self.steps.left -= kept
        found = self._search(turns, least=least)
        self.steps.left += kept
        return found

    def _search(self, turns: Sequence[int], *, least: bool) -> bool:
        self._least = least
        for turn in turns:
            self._begin(turn)
            mark = self.room.mark()
            if all(self._fill(root, self.everything) for root in self._order[-1]):
                return True
            self.room.undo(mark)
            self._taken.clear()
            self._chosen.clear()
            if self.steps.left <= 0:
                break
        return False

    def _begin(self, turn: int) -> None:
        """Set the order of groups for a turn: the largest first, from turn 2 on with random noise."""
        self._noise = np.random.default_rng(turn) if turn > 1 else None
        self._style = turn
        sizes = [self._weigh(number) for number in range(len(self.group.names))]
        if self._noise is not None:
            sizes = (np.array(sizes) * self._noise.uniform(0.6, 1.4, len(sizes))).tolist()

        def rank(number: int) -> tuple[bool, bool, float]:
            kept = bool(self.group.held[number])
            return not kept, not self.group.within[number], -sizes[number]

        orders = [*self.group.children, self.group.roots]
        self._order = [sorted(inside, key=rank) for inside in orders]

    def _weigh(self, number: int) -> float:
        return sum(self.room.size[shape] * count for shape, count in self._total[number].items())

    # --- one group -----------------------------------------------------------------------------------------------

    def _fill(self, number: int, where: Int64) -> bool:
        """Place a group on some of the machines ``where``, and return True; or change nothing, and return False."""
        self.steps.left -= 1
        hard = self.group.within[number]
        for wish in self.group.rather_within[number]:
            if self._fill_within(number, (*hard, wish), where):
                return True
        return self._fill_within(number, hard, where)

    def _fill_within(self, number: int, keys: tuple[int, ...], where: Int64) -> bool:
        if not keys:
            return self._fill_inside(number, where)
        key, rest = keys[0], keys[1:]
        for code, part in self._iter_candidates(number, key, where):
            self._chosen[number, key] = code
            if self._fill_within(number, rest, part):
                if not self._style and not self._least:
                    self._hints[number, key] = where, code, part
                return True
            if self.steps.left <= 0:
                break
        self._chosen.pop((number, key), None)
        return False

    def _fill_inside(self, number: int, where: Int64) -> bool:
        inside = self.group.children[number]
        return self._fill_groups(number, where) if inside else self._fill_tasks(number, where)

    def _fill_groups(self, number: int, where: Int64) -> bool:
        order = self._order[number]
        for _ in range(min(TURNS, len(order))):
            mark, taken = self.room.mark(), len(self._taken)
            failed = self._fill_in_order(number, order, where)
            if failed is None:
                return True
            self._undo(mark, taken)
            if order[0] == failed or self.steps.left <= 0:
                return False
            order.remove(failed)
            order.insert(0, failed)
        return False

    def _fill_in_order(self, number: int, order: Sequence[int], where: Int64) -> int | None:
        """Place the groups in a group, in ``order``; return the first that finds no place.

        Returns None if all groups that are needed find places.
        """
        spare = len(order) - int(self.group.least[number]) if self._least else 0
        wanted = len(order) - max(0, spare)
        found = 0
        for child in order:
            if self._least and found >= wanted:
                return None
            # Groups that lack members do not count as placed, so they are not tried.
            if (self.group.completable[child] or not self._least) and self._fill(child, where):
                found += 1
            elif spare > 0:
                spare -= 1
            else:
                return child
        return None

    def _undo(self, mark: int, taken: int) -> None:
        self.room.undo(mark)
        del self._taken[taken:]

    # --- choosing domains ----------------------------------------------------------------------------------------

    def _iter_candidates(self, number: int, key: int, where: Int64) -> Iterator[tuple[int, Int64]]:
        """Yield the domains of a label that may hold a group, the tightest first, with their machines in ``where``.

        For a group with tasks on machines, only the domain with most of these tasks is yielded.
        """
        parent = int(self.group.parent[number])
        separate = parent >= 0 and self.group.apart[parent]
        hinted = -1
        if not self._style and not self._least and not separate and (number, key) in self._hints:
            there, code, part = self._hints[number, key]
            if there is where and self._find_roomy(number, part, np.zeros(len(part), dtype=np.int64), 1)[0]:
                hinted = code
                yield code, part
        codes = self._select(self.domains.code[key], where)
        known = codes >= 0
        inside, at = (where, codes) if known.all() else (where[known], codes[known])
        if not len(at):
            return
        domains = int(at.max()) + 1
        able = np.bincount(at, minlength=domains) > 0
        able &= self._find_roomy(number, inside, at, domains)
        held = self.domains.code[key][list(self.group.held[number])]
        held = held[held >= 0]
        if len(held):
            able &= np.arange(domains) == np.bincount(held).argmax()
        if hinted >= 0:
            able[hinted] = False
        if separate:
            able[[each for each in self._list_siblings_domains(number, parent, key) if each < domains]] = (
                False
            )
        candidates = np.flatnonzero(able)
        if len(candidates) > 1:
            left = self._measure(number, inside, at, domains)[candidates]
            if self._noise is not None:
                left = left * self._noise.uniform(0.7, 1.3, len(left))
            candidates = candidates[np.argsort(left, kind="stable")]
        for candidate in candidates.tolist():
            yield candidate, inside[at == candidate]

    def _select(self, values: Int64, machines: Int64) -> Int64:
        """Return ``values`` (int64[M]) of ``machines``; not a copy if these are all machines."""
        return values if machines is self.everything else values.take(machines)

    def _list_siblings_domains(self, number: int, parent: int, key: int) -> list[int]:
        """Return the domains of a label that the siblings of a group have been given, or have tasks in."""
        taken = []
        for sibling in self.group.children[parent]:
            if sibling != number:
                taken += [self._chosen[sibling, key]] if (sibling, key) in self._chosen else []
                held = self.domains.code[key][list(self.group.held[sibling])]
                taken += held[held >= 0].tolist()
        return taken

    def _find_roomy(self, number: int, machines: Int64, code: Int64, domains: int) -> np.ndarray:
        """Return which domains have enough slots for each shape of a group, and enough of each resource: bool[D]."""
        needed = self._count_needed(number)
        able = np.ones(domains, dtype=np.bool_)
        for shape, count in needed.items():
            slots = np.minimum(self._select(self.room.slots[shape], machines), count)
            able &= np.bincount(code, weights=slots, minlength=domains) >= count
        if len(needed) > 1:
            amounts = sum(self.room.requests[shape] * count for shape, count in needed.items())
            for column, amount in enumerate(np.asarray(amounts).tolist()):
                if amount > 0:
                    free = np.maximum(self._select(self.room.free[column], machines), 0)
                    able &= np.bincount(code, weights=free, minlength=domains) >= amount
        return able

    def _count_needed(self, number: int) -> dict[int, int]:
        """Return by shape how many tasks of a group must be placed: all, or with ``least`` only as many as it needs."""
        if not self._least:
            return self._total[number]
        inside = self.group.children[number]
        if len(inside) > int(self.group.least[number]):
            return {}
        needed: dict[int, int] = {}
        if not inside:
            counts = {part: int(self.group.part_count[part]) for part in self.group.parts[number]}
            for part, count in self._choose_fewest(number, counts).items():
                needed[self.shape_of[part]] = needed.get(self.shape_of[part], 0) + count
        for child in inside:
            for shape, count in self._count_needed(child).items():
                needed[shape] = needed.get(shape, 0) + count
        return needed

    def _measure(self, number: int, machines: Int64, code: Int64, domains: int) -> Float64:
        """Return how much is free in each domain of the resource that is scarcest for the group: float64[D]."""
        total = self._total[number]
        amounts = sum(self.room.requests[shape] * count for shape, count in total.items())
        free = np.maximum(self.room.free, 0)
        share = np.asarray(amounts) / np.maximum(free.sum(axis=1), 1)
        column = int(np.argmax(share)) if np.ndim(share) and len(share) else 0
        left = self._select(free[column], machines)
        return np.bincount(code, weights=left, minlength=domains).astype(np.float64)

    # --- placing tasks -------------------------------------------------------------------------------------------

    def _fill_tasks(self, number: int, where: Int64) -> bool:
        """Place the tasks of a group, the largest first, and return True; or change nothing, and return False."""
        parts = self.group.parts[number]
        counts = {part: int(self.group.part_count[part]) for part in parts}
        if self._least:
            counts = self._choose_fewest(number, counts)
        mark, taken = self.room.mark(), len(self._taken)
        wishes = self.group.rather_within[number] if not self._least else ()
        shapes = {self.shape_of[part] for part, count in counts.items() if count} if wishes else ()
        rank = None
        if len(shapes) == 1:
            keys = [self.domains.code[key] for key in reversed(wishes)]
            slots = self.room.slots[next(iter(shapes))]
            where, rank = choose_few_domains(keys, slots, sum(counts.values()), where)
        for part in sorted(counts, key=lambda part: -self.room.size[self.shape_of[part]]):
            if counts[part] and not self._fill_part(part, counts[part], where, rank):
                self._undo(mark, taken)
                return False
        return True

    def _choose_fewest(self, number: int, counts: dict[int, int]) -> dict[int, int]:
        """Return how many tasks of each part are chosen so that a group gets as many as it needs."""
        left = max(0, int(self.group.least[number]) - self.group.have[number])
        chosen = {}
        for part, count in counts.items():
            chosen[part] = min(count, left)
            left -= chosen[part]
        return chosen

    def _fill_part(
        self, part: int, count: int, where: Int64, rank: Int64 | None = None, *, all_of_it: bool = True
    ) -> int:
        """Place ``count`` tasks of one part on ``where`` or, with ``all_of_it``, none; return how many are placed.

        Machines with a lower ``rank`` (int64, one per machine of ``where``) are filled first.
        """
        shape = self.shape_of[part]
        slots = self.room.slots[shape, where]
        open_to = slots > 0
        machines, slots = where[open_to], slots[open_to]
        if int(slots.sum()) < count:
            if all_of_it:
                return 0
            count = int(slots.sum())
        order = self._rank_machines(shape, machines, slots)
        if rank is not None:
            order = order[np.argsort(rank[open_to][order], kind="stable")]
        machines, slots = machines[order], slots[order]
        before = np.cumsum(slots) - slots
        counts = np.clip(count - before, 0, slots)
        used = counts > 0
        machines, counts = machines[used], counts[used]
        if len(machines):
            self.room.take(shape, machines, counts)
            self._taken.append((part, machines, counts))
        return count

    def _rank_machines(self, shape: int, machines: Int64, slots: Int64) -> Int64:
        """Return the order in which to fill machines: the fullest first or, in other turns, those with least waste."""
        cost = self.room.cost[shape](machines)
        if self._style % 3 == 0:
            return np.lexsort((cost, slots))
        waste = np.round(self.room.find_waste(shape, machines), 6)
        if self._style % 3 == 1:
            return np.lexsort((cost, slots, waste))
        return np.lexsort((cost, waste, -slots))

    def collect(self) -> NestedPlaces:
        """Return the places of all tasks that exist; places of tasks to come are left out."""
        if not self._taken:
            nothing = np.empty(0, dtype=np.int64)
            return NestedPlaces(nothing, nothing, nothing)
        part = np.concatenate([np.full(len(machines), part) for part, machines, _ in self._taken])
        machine = np.concatenate([machines for _, machines, _ in self._taken])
        count = np.concatenate([counts for _, _, counts in self._taken])
        known = ~self.group.part_to_come[part]
        return NestedPlaces(part[known], machine[known], count[known])
