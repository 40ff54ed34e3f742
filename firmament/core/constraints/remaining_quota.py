"""Keeps what quotas have left while a round places tasks; tasks use quota on any machine, and release it.

A task uses the first flavor that covers its machine and has enough left. `quota_terms` says what tasks take, and from
which quotas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms
from firmament.core.constraints.quota_tree import TreeUse

ENDLESS = 2**40
"""A number of tasks that stands for "not limited by a quota"."""

MANY = 64
"""At least this many draws are booked all at once: a sum over all quotas takes about as long as booking this many."""

PlainAmounts: TypeAlias = tuple[tuple[int, int], ...]
"""Columns and amounts of what a task takes if it has one flavor to choose from."""

UNKNOWN: PlainAmounts = ((-1, 0),)
"""Stands for amounts that have not been computed yet."""


class _Gathered(NamedTuple):
    """Tasks by draw and by kind of machine, each combination once: int64[A] each."""

    draw: Int64
    kind: Int64
    tasks: Int64

    def list_entries(self) -> Iterator[tuple[int, int, int]]:
        """Yield draw, kind and number of tasks of each combination."""
        return zip(self.draw.tolist(), self.kind.tolist(), self.tasks.tolist(), strict=True)


@dataclass(slots=True)
class RemainingQuota:
    """Quotas, and what tasks have taken from them so far."""

    terms: QuotaTerms
    """The quotas as they were at the beginning."""
    use: TreeUse = field(init=False)
    """What the tree's quotas have in use now."""
    booked: dict[tuple[int, int, int, int], int] = field(init=False)
    """How many tasks have used one of several flavors: by draw, kind of machine, group and index of the flavor."""
    most: dict[int, int] = field(init=False)
    """The most tasks of a draw that may still come, if something besides the quotas limits them."""
    known_units: dict[int, dict[int, Int64]] = field(init=False)
    """Cached results of `units_by_kind`, by root of a tree and by draw.

    A booking drops the cached results for the tree of quotas in which it books. Copies share the results that they
    have not replaced.
    """
    known_amounts: dict[tuple[int, int], PlainAmounts | None] = field(init=False)
    """Cached results of `list_plain_amounts`, by draw and kind; copies share them."""

    def __post_init__(self) -> None:
        self.use = TreeUse(self.terms.tree, self.terms.own)
        self.booked = {entry[:4]: entry[4] for entry in self.terms.booked}
        self.most = {}
        self.known_units = {}
        self.known_amounts = {}

    def copy(self, terms: QuotaTerms | None = None) -> RemainingQuota:
        """Return an independent copy; ``terms``: the same quotas, with other shapes or machines."""
        twin = object.__new__(
            RemainingQuota
        )  # searches for victims make many copies, and `copy.copy` is slow
        twin.terms = self.terms if terms is None else terms
        twin.use, twin.booked, twin.known_units = self.use.copy(), self.booked.copy(), self.known_units.copy()
        twin.most, twin.known_amounts = self.most.copy(), self.known_amounts
        return twin

    def as_terms(self) -> QuotaTerms:
        """Return the quotas with all bookings so far, as the terms with which another round starts."""
        booked = tuple((*key, count) for key, count in self.booked.items() if count)
        return replace(self.terms, own=self.use.own.copy(), booked=booked)

    # --- how many more tasks -------------------------------------------------------------------------------------

    def units_by_kind(self, draw: int) -> Int64:
        """Return int64[D]: how many more tasks of a draw all machines of each kind together may take."""
        node = self.terms.draws[draw].node
        root = self.use.list_path(node)[-1] if node >= 0 else -1
        known = self.known_units.get(root)
        if known is None:
            known = self.known_units[root] = {}
        found = known.get(draw)
        if found is None:
            found = self._count_units(self.terms.draws[draw])
            if draw in self.most:
                found = np.minimum(found, self.most[draw])
            known[draw] = found
        return found

    def units_of_kind(self, draw: int, kind: int) -> int:
        """Return the entry of ``units_by_kind`` for one kind, without computing the others."""
        node = self.terms.draws[draw].node
        amounts = None if node < 0 else self.list_plain_amounts(draw, kind)
        if amounts is None:
            return int(self.units_by_kind(draw)[kind])
        units = self.most.get(draw, ENDLESS) if self.most else ENDLESS
        for column, amount in amounts:
            units = min(units, self.use.get_left(node, column) // amount)
        return max(0, units)

    def list_plain_amounts(self, draw: int, kind: int) -> PlainAmounts | None:
        """Return (column, amount) of what a task of a draw takes on machines of a kind.

        Return None if the task is not admitted, or if some group has not exactly one flavor that covers the kind.
        """
        key = draw, kind
        known = self.known_amounts.get(key, UNKNOWN)
        if known is UNKNOWN:
            known = self.known_amounts[key] = self._find_plain_amounts(self.terms.draws[draw], kind)
        return known

    def _find_plain_amounts(self, draw: Draw, kind: int) -> PlainAmounts | None:
        if draw.node < 0 or draw.refused:
            return None
        found: list[tuple[int, int]] = []
        for group in draw.groups:
            there = [
                columns
                for flavor, columns in zip(group.flavors, group.columns, strict=True)
                if self.terms.covers.item(kind, flavor)
            ]
            if len(there) != 1:
                return None
            found += zip(there[0], group.amounts, strict=True)
        return tuple(found)

    def count_units(self, draw: int) -> int:
        """Return an upper bound on how many more tasks of a draw the quotas allow, on all kinds of machines together.

        The bound is exact if each group of resources has one flavor.
        """
        wanted = self.terms.draws[draw]
        if all(len(group.flavors) == 1 for group in wanted.groups):
            return int(self.units_by_kind(draw)[:-1].max(initial=0))
        if wanted.node < 0 or wanted.refused:
            return 0
        each = (
            (self.units_in(wanted, group, place) for place in range(len(group.flavors)))
            for group in wanted.groups
        )
        return min(map(sum, each))

    def restrict_draws(self, most: dict[int, int]) -> None:
        """Limit how many more tasks of each draw may be placed to ``most`` (number by draw)."""
        self.most = most
        self.known_units = {}

    def _count_units(self, draw: Draw) -> Int64:
        kinds = len(self.terms.covers)
        if draw.node < 0 or draw.refused:
            return np.zeros(kinds, dtype=np.int64)
        if len(draw.groups) == 1 and len(draw.groups[0].flavors) == 1:
            return self.terms.covers[:, draw.groups[0].flavors[0]] * self.units_in(draw, draw.groups[0], 0)
        units = np.full(kinds, ENDLESS, dtype=np.int64)
        for group in draw.groups:
            if len(group.flavors) == 1:
                there = self.terms.covers[:, group.flavors[0]] * self.units_in(draw, group, 0)
                np.minimum(units, there, out=units)
                continue
            each = np.array([self.units_in(draw, group, place) for place in range(len(group.flavors))])
            together = self.terms.covers[:, list(group.flavors)] @ each.astype(np.int64)
            np.minimum(units, together, out=units)
        return units

    def units_in(self, draw: Draw, group: DrawGroup, place: int) -> int:
        """Return how many more tasks one flavor (index ``place``) admits, counting the resources of one group."""
        units = ENDLESS
        for column, amount in zip(group.columns[place], group.amounts, strict=True):
            units = min(units, self.use.get_left(draw.node, column) // amount)
        return max(0, units)

    def close_full(self, machines: Bool, shape: int) -> None:
        """Clear those entries of ``machines`` (bool[M]) on which quotas allow no further task of a shape."""
        draw = int(self.terms.draw[shape])
        if draw >= 0:
            machines &= (self.units_by_kind(draw) > 0)[self.terms.kind]

    def lets_in(self, shape: int, machine: int) -> bool:
        """Return whether quotas allow one more task of a shape on a machine."""
        draw = int(self.terms.draw[shape])
        return draw < 0 or self.units_of_kind(draw, int(self.terms.kind[machine])) > 0

    def limit_units(self, units: Int64, shapes: Int64, machines: Int64) -> None:
        """Reduce ``units`` (int64[A]) to how many tasks of ``shapes[i]`` quotas allow on ``machines[i]``."""
        draw, kind = self.terms.draw[shapes], self.terms.kind[machines]
        drawing = np.flatnonzero(draw >= 0)
        if not len(drawing):
            return
        pairs, entry = np.unique(draw[drawing] * len(self.terms.covers) + kind[drawing], return_inverse=True)
        numbers, kinds = np.divmod(pairs, len(self.terms.covers))
        most = [
            self.units_of_kind(number, of)
            for number, of in zip(numbers.tolist(), kinds.tolist(), strict=True)
        ]
        units[drawing] = np.minimum(units[drawing], np.array(most, dtype=np.int64)[entry])

    # --- tasks that come, or go ----------------------------------------------------------------------------------

    def add(self, shape: int, machine: int, count: int) -> None:
        """Book tasks of a shape on a machine; a negative count releases them."""
        self.draw_on(int(self.terms.draw[shape]), int(self.terms.kind[machine]), count)

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> None:
        """Book ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; negative counts release them."""
        gathered = self._gather(shapes, machines, counts)
        if len(gathered.draw) > MANY and (amounts := self._list_amounts(gathered)) is not None:
            self.use.add_at(*amounts)
            self.known_units = {}
            if self.most:
                for draw, _, count in gathered.list_entries():
                    if draw in self.most:
                        self.most[draw] = max(0, self.most[draw] - count)
            return
        for draw, kind, count in gathered.list_entries():
            self.draw_on(draw, kind, count)

    def _list_amounts(self, gathered: _Gathered) -> tuple[Int64, Int64, Int64] | None:
        """Return quota, column and amount of all that tasks use: int64 each.

        Return None if some task is not admitted, or has not exactly one flavor to choose from in a group.
        """
        return self.terms.entries.list_amounts(
            gathered.draw, self.terms.covers[gathered.kind], gathered.tasks
        )

    def find_open(self) -> Bool:
        """Return the draws of which quotas have enough for one more task, on whichever machine: bool[D]."""
        return self.terms.entries.find_open(self.use.compute_available())

    def _gather(self, shapes: Int64, machines: Int64, counts: Int64) -> _Gathered:
        """Return how many tasks of each draw are on machines of each kind."""
        draw, kind, kinds = self.terms.draw[shapes], self.terms.kind[machines], len(self.terms.covers)
        drawing = draw >= 0
        pairs, entry = np.unique(draw[drawing] * kinds + kind[drawing], return_inverse=True)
        sums = np.bincount(entry, weights=counts[drawing], minlength=len(pairs)).astype(np.int64)
        numbers, of = np.divmod(pairs, max(1, kinds))
        return _Gathered(numbers, of, sums)

    def draw_on(self, draw: int, kind: int, count: int) -> None:
        """Book ``count`` tasks of a draw on machines of a kind, even beyond the quota; negative counts release."""
        if draw < 0 or not count or self.terms.draws[draw].node < 0:
            return
        node = self.terms.draws[draw].node
        self.known_units[self.use.list_path(node)[-1]] = {}
        if draw in self.most:
            self.most[draw] = max(0, self.most[draw] - count)
        amounts = self.list_plain_amounts(draw, kind)
        if amounts is not None:
            for column, amount in amounts:
                self.use.add(node, column, amount * count)
            return
        for number, group in enumerate(self.terms.draws[draw].groups):
            for place, tasks in self._deal_out(draw, kind, number, count):
                for column, amount in zip(group.columns[place], group.amounts, strict=True):
                    self.use.add(node, column, amount * tasks)

    def _deal_out(self, draw: int, kind: int, number: int, count: int) -> list[tuple[int, int]]:
        """Return which flavors (indices) ``count`` tasks use or release, and how many tasks each.

        The result is empty if no flavor covers the kind.
        """
        group = self.terms.draws[draw].groups[number]
        open_to = [place for place, flavor in enumerate(group.flavors) if self.terms.covers[kind, flavor]]
        if len(open_to) < 2:
            return [(place, count) for place in open_to]
        dealt = []
        for place, most in self._list_room(draw, group, open_to, count):
            key = draw, kind, number, place
            taken = self.booked.get(key, 0)
            part = min(count, most) if count > 0 else max(count, -taken)
            if part:
                self.booked[key] = taken + part
                dealt.append((place, part))
            count -= part
        if count:  # The tasks left over are beyond the quota.
            key = draw, kind, number, open_to[0]
            self.booked[key] = self.booked.get(key, 0) + count
            dealt.append((open_to[0], count))
        return dealt

    def _list_room(
        self, draw: int, group: DrawGroup, places: Sequence[int], count: int
    ) -> Iterator[tuple[int, int]]:
        """Yield flavors (indices) in the order in which tasks use or release them, each with how many tasks may do so.

        If a quota prefers not to borrow, tasks first use all that is available without borrowing, then what the quota
        above brings in, and so on up the tree. A flavor may therefore occur several times, each time for further
        tasks.
        """
        known, node = self.terms.draws[draw], self.terms.draws[draw].node
        if count < 0:
            yield from ((place, 0) for place in reversed(places))
        elif not self.terms.is_sparing(node):
            yield from ((place, self.units_in(known, group, place)) for place in places)
        else:
            given = dict.fromkeys(places, 0)
            for level in range(len(self.use.list_path(node))):
                for place in places:
                    most = self.units_within(known, group, place, level)
                    yield place, max(0, most - given[place])
                    given[place] = max(most, given[place])

    def units_within(self, draw: Draw, group: DrawGroup, place: int, level: int) -> int:
        """Return how many more tasks a flavor admits if nothing is borrowed from above ``level``.

        Only the resources of ``group`` count. Level 0 is the quota that the tasks use themselves, level 1 its parent.
        """
        path = self.use.list_path(draw.node)
        units = self.units_in(draw, group, place)
        for column, amount in zip(group.columns[place], group.amounts, strict=True):
            spare = sum(
                max(0, self.terms.tree.local.item(each, column) - self.use.used.item(each, column))
                for each in path[:level]
            )
            units = min(units, max(0, self.use.get_own_left(path[level], column) + spare) // amount)
        return units

    def limit_in_turn(self, shapes: Int64, machines: Int64, counts: Int64, standing: Int64) -> Int64:
        """Return ``counts`` (int64[A]) reduced to what quotas allow if entries come in order of ``standing``."""
        drawing = np.flatnonzero((self.terms.draw[shapes] >= 0) & (counts > 0))
        if not len(drawing) or self.has_room_for(shapes[drawing], machines[drawing], counts[drawing]):
            return counts
        trial, cut = self.copy(), counts.copy()
        for entry in drawing[np.argsort(standing[drawing], kind="stable")].tolist():
            draw, kind = int(self.terms.draw[shapes[entry]]), int(self.terms.kind[machines[entry]])
            cut[entry] = min(int(counts[entry]), trial.units_of_kind(draw, kind))
            trial.draw_on(draw, kind, int(cut[entry]))
        return cut

    def has_room_for(self, shapes: Int64, machines: Int64, counts: Int64) -> bool:
        """Return whether quotas allow all of these tasks together, in any order."""
        gathered, trial = self._gather(shapes, machines, counts), self.copy()
        many = len(gathered.draw) > MANY and not self.most
        if many and (amounts := self._list_amounts(gathered)) is not None:
            trial.use.add_at(*amounts)
            nodes, columns, _ = amounts
            return bool((trial.use.compute_available()[nodes, columns] >= 0).all())
        for draw, kind, count in gathered.list_entries():
            if trial.units_of_kind(draw, kind) < count:
                return False
            trial.draw_on(draw, kind, count)
        return True

    def find_crowded(self, shapes: Int64, machines: Int64) -> Bool:
        """Return which tasks, one per entry, use quotas that do not suffice for all of these tasks: bool[A]."""
        if self.has_room_for(shapes, machines, np.ones_like(shapes)):
            return np.zeros(len(shapes), dtype=np.bool_)
        return np.asarray(self.terms.draw[shapes] >= 0)
