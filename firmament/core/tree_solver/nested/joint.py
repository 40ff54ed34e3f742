"""Places all groups of a tree jointly: gives domains to the groups that need them, then solves each domain by itself.

The items to be placed on some machines are groups that still need a domain of some label, and tasks. Groups are given
domains by what the domains have in sum (`DomainChoice`). Each domain with its groups is then a problem of its own,
down to tasks on single machines. If a domain cannot be solved, it is taken to be smaller, and the groups choose
again. If that fails, all ways are tried by patterns: which kinds of groups each domain gets. A result for one domain
holds for all domains that are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.counts import sum_by_shape
from firmament.core.tree_solver.nested.domain_sharing import DomainProblem, Item, build_domain_problem
from firmament.core.tree_solver.nested.kinds import describe_domain, list_parts, number_kinds
from firmament.core.tree_solver.nested.pattern_search import Bins, Effort, fill_bins
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.task_packing import Booked, TaskPacking
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains

ITEMS_PER_EFFORT = 256
"""Number of other items with which an item is compared for one unit of effort."""
CHOICES = 24
"""Most choices of domains that are tried for one set of groups."""
FIRST_CHOICES = 3
"""Number of choices that are tried before all ways are tried by patterns."""
SHRINK = 0.985
"""Factor by which a domain counts as smaller, for the next choice, if its groups did not fit."""


class JointPacking:
    """Packs the tasks of one tree, ``counts`` of each part, on the machines of ``room``, and books them there.

    ``is_certain``: if no packing was found, whether it is certain that no packing exists.
    """

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
        self.is_certain = True
        self._group, self._domains, self._room = group, domains, room
        self._shape_of, self._effort = shape_of, effort
        wish = group.rather_within if wishes else [()] * len(group.names)
        self._keys = [(*hard, *soft[:1]) for hard, soft in zip(group.within, wish, strict=True)]
        self._random = np.random.default_rng(len(group.names))
        self._demand = sum_by_shape(group, shape_of, counts)
        self._kinds = number_kinds(group, self._keys, shape_of, counts)
        self._packing = TaskPacking(room, shape_of, counts, effort)
        self._solved: dict[Hashable, tuple[Booked | None, bool]] = {}

    def pack_all(self) -> Booked | None:
        """Return places for all tasks, and book them; or return None, and book nothing."""
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
            self.is_certain = False  # with other domains for the first items, the remaining ones might fit
            self._room.undo(mark)
            return None
        return found + rest + more

    def _pack(self, parts: Sequence[int], where: Int64) -> Booked | None:
        found, certain = self._packing.pack(parts, where)
        self.is_certain &= certain
        return found

    def _unfold(self, items: Sequence[Item]) -> tuple[list[Item], list[int]]:
        """Return the groups in ``items`` that need a domain of some label, and the parts that may use all machines."""
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
        """Return whether each domain of the label ``fine`` lies in one domain of the label ``coarse``."""
        small, large = self._domains.code[fine][where], self._domains.code[coarse][where]
        known = small >= 0
        pairs = np.unique(np.stack([small[known], large[known]]), axis=1)
        return len(pairs[0]) == len(np.unique(pairs[0])) and bool((pairs[1] >= 0).all())

    # --- groups to domains ---------------------------------------------------------------------------------------

    def _share_out(self, items: Sequence[Item], key: int, where: Int64) -> Booked | None:
        """Give each item a domain of a label, solve the domains, and book all places; return None if that fails."""
        bound = [self._next(item) == key for item in items]
        sharing = build_domain_problem(
            self._group, self._domains, self._room, self._demand, items, bound, key, where
        )
        if not sharing.able.any(axis=1).all():
            return None
        looks = [
            describe_domain(self._domains, self._room, sharing.shapes, rows) for rows in sharing.machines
        ]
        choice = sharing.build_domain_choice(self._random)
        if choice.is_too_many():
            return None
        for turn in range(CHOICES):
            if turn == FIRST_CHOICES:
                found, certain = self._share_by_patterns(sharing, looks)
                if found is not None or certain:
                    return found
            if self._effort.left <= 0:
                break
            order = None
            if turn % 4 == 3:
                noise = self._random.uniform(0.5, 1.5, len(items))
                order = np.argsort(-choice.demand.max(axis=1) * noise, kind="stable")
            tried = choice.tried
            at = choice.choose_domains(60 + 6 * len(items), order)
            self._effort.left -= (choice.tried - tried) * len(items) // ITEMS_PER_EFFORT
            if at is None:
                continue
            inside = {domain: np.flatnonzero(at == domain).tolist() for domain in np.unique(at).tolist()}
            failed = [
                domain
                for domain in inside
                if self._solve_domain(sharing, looks, domain, inside[domain])[0] is None
            ]
            if not failed:
                return self._book(sharing, looks, inside)
            choice.room[failed] *= SHRINK
        self.is_certain = False
        return None

    def _share_by_patterns(
        self, sharing: DomainProblem, looks: Sequence[Hashable]
    ) -> tuple[Booked | None, bool]:
        """Return places for all items, booked; or None, and whether it is certain that there are none."""
        members: dict[Hashable, list[int]] = {}
        for index, (number, settled) in enumerate(sharing.items):
            own = self._kinds[number], settled, sharing.apart[index], sharing.able[index].tobytes()
            members.setdefault(own, []).append(index)
        groups = sorted(members.values(), key=lambda inside: -int(sharing.amount[inside[0]].sum()))
        first = [inside[0] for inside in groups]
        counts = np.array([len(inside) for inside in groups], dtype=np.int64)
        bins = Bins(
            free=sharing.free.T,
            requests=sharing.amount[first],
            counts=counts,
            most=sharing.able[first] * counts[:, None],
            likeness=looks,
            apart=sharing.apart[first],
        )

        def is_right(domain: int, pattern: Int64) -> tuple[bool, bool]:
            inside = [each for at, number in enumerate(pattern.tolist()) for each in groups[at][:number]]
            found, certain = self._solve_domain(sharing, looks, domain, inside)
            return found is not None, certain

        filling = fill_bins(bins, self._effort, np.random.default_rng(len(first)), is_right)
        if filling.patterns is None:
            return None, filling.certain
        given = [0] * len(groups)
        inside: dict[int, list[int]] = {}
        for domain, pattern in filling.patterns:
            for at, number in enumerate(pattern.tolist()):
                if number:
                    inside.setdefault(domain, []).extend(groups[at][given[at] : given[at] + number])
                    given[at] += number
        return self._book(sharing, looks, inside), True

    def _solve_domain(
        self, sharing: DomainProblem, looks: Sequence[Hashable], domain: int, inside: Sequence[int]
    ) -> tuple[Booked | None, bool]:
        """Return places for items in a domain, without booking them; or None, and whether that is certain.

        Machines are numbered within the domain; parts are numbered among the parts of the items.
        """
        items, machines = self._order(sharing, inside), sharing.machines[domain]
        key = looks[domain], tuple((self._kinds[number], settled, own) for number, settled, own in items)
        if key not in self._solved:
            before, self.is_certain = self.is_certain, True
            mark = self._room.mark()
            found = self._solve_items([(number, settled + own) for number, settled, own in items], machines)
            self._room.undo(mark)
            if found is not None:
                parts = [part for number, *_ in items for part in list_parts(self._group, number)]
                place_of = {part: place for place, part in enumerate(parts)}
                found = [
                    (place_of[part], np.searchsorted(machines, rows), counts) for part, rows, counts in found
                ]
            self._solved[key] = found, self.is_certain
            self.is_certain = before
        return self._solved[key]

    def _order(self, sharing: DomainProblem, inside: Sequence[int]) -> list[tuple[int, int, bool]]:
        """Return items ordered by kind, each as a group and two facts about its labels.

        The order depends on two facts: how many of the item's labels have domains, and whether the present label is
        its next one.
        """
        items = [(*sharing.items[index], sharing.bound[index]) for index in inside]
        return sorted(items, key=lambda item: (self._kinds[item[0]], item))

    def _book(
        self, sharing: DomainProblem, looks: Sequence[Hashable], inside: dict[int, list[int]]
    ) -> Booked:
        """Book the places that were found for the items in each domain, and return these places."""
        booked: Booked = []
        for domain, indexes in inside.items():
            found, _ = self._solve_domain(sharing, looks, domain, indexes)
            items, machines = self._order(sharing, indexes), sharing.machines[domain]
            parts = [part for number, *_ in items for part in list_parts(self._group, number)]
            booked += [(parts[place], machines[rows], counts) for place, rows, counts in found or []]
        for part, rows, counts in booked:
            self._room.take(self._shape_of[part], rows, counts)
        return booked
