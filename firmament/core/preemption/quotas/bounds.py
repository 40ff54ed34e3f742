"""Computes upper bounds on the quota and the capacity that are free after some victims have left, without a trial.

If a bound is too low for the tasks that come, no trial finds places for them. More victims never lower a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import list_amounts
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionProblem
from firmament.core.preemption.quotas.victims import (
    Preemptor,
    find_while_borrowing,
    is_borrowing,
    part_ways,
    stays_within,
)

Members = Sequence[tuple[int, int]]
"""Classes whose tasks must come together, and how many tasks of each."""


def give_back(quotas: RemainingQuota, preemption: PreemptionProblem, victims: Iterable[int]) -> None:
    """Release the quota that ``victims`` use."""
    going = np.array([*victims], dtype=np.int64)
    kinds = len(quotas.terms.covers)
    pairs = preemption.draw[going] * kinds + quotas.terms.kind[preemption.machine[going]]
    for pair, count in sorted(Counter(pairs.tolist()).items()):
        quotas.draw_on(pair // kinds, pair % kinds, -count)


class QuotaBound:
    """The most quota that can be free at any time while victims leave one after another; ``state`` stays as it is."""

    def __init__(self, state: PreemptionState, victims: Iterable[int] = ()) -> None:
        assert state.quotas is not None
        self.quotas = state.quotas.copy()
        """The quotas after the victims counted so far have left."""
        self._state = state
        self.let_go(victims)

    def let_go(self, victims: Iterable[int]) -> None:
        """Count some victims as gone: release their quota."""
        give_back(self.quotas, self._state.preemption, victims)

    def is_enough(self, members: Members) -> bool:
        """Return whether there is quota for each class's tasks, as if the other classes took none."""
        draw, shape = self.quotas.terms.draw, self._state.problem.shape
        return all(
            int(self.quotas.units_by_kind(int(draw[shape[cls]])).sum()) >= count
            for cls, count in members
            if draw[shape[cls]] >= 0
        )


class FreedBound:
    """Tests cheaply whether victims use as much quota as ``members`` lack; a weaker test than `QuotaBound`.

    A task whose flavors depend on the machine counts as lacking nothing. ``state`` must not change meanwhile.
    """

    def __init__(self, state: PreemptionState, members: Members) -> None:
        quotas, problem = state.quotas, state.problem
        assert quotas is not None
        self._state, self._terms = state, quotas.terms
        wanted: dict[tuple[int, int], int] = {}
        for cls, count in members:
            number = int(quotas.terms.draw[problem.shape[cls]])
            kind = find_single_kind(quotas, number) if number >= 0 else None
            if kind is not None:
                draw = quotas.terms.draws[number]
                for column, amount in list_amounts(draw, quotas.terms.covers[kind]):
                    wanted[draw.node, column] = wanted.get((draw.node, column), 0) + amount * count
        self._lacking = [
            (column, amount - quotas.use.get_left(node, column)) for (node, column), amount in wanted.items()
        ]
        self._uses: dict[int, dict[int, int]] = {}

    def is_enough(self, victims: Iterable[int]) -> bool:
        """Return whether ``members`` could have quota once these victims have left."""
        uses = [self._list_uses(int(self._state.preemption.draw[victim])) for victim in victims]
        return all(sum(each.get(column, 0) for each in uses) >= lacking for column, lacking in self._lacking)

    def _list_uses(self, draw: int) -> dict[int, int]:
        """Return the most that a task of a draw uses of each column of quota."""
        found = self._uses.get(draw)
        if found is None:
            found = self._uses[draw] = {
                column: amount
                for group in (self._terms.draws[draw].groups if draw >= 0 else ())
                for columns in group.columns
                for column, amount in zip(columns, group.amounts, strict=True)
            }
        return found


class RoomBound:
    """The most capacity that can be free for ``members`` while victims leave one by one; ``state`` stays as it is."""

    def __init__(self, state: PreemptionState, members: Members) -> None:
        self._state = state
        self._classes = [_ClassRoom(state, cls, count) for cls, count in members]

    def let_go(self, victims: Iterable[int]) -> None:
        """Count some victims as gone: release what they use of their machines."""
        machine, sizes = self._state.preemption.machine, self._state.sizes
        for victim in victims:
            for each in self._classes:
                each.enlarge(int(machine[victim]), sizes[victim])

    def is_enough(self) -> bool:
        """Return whether each class's tasks fit, as if the other classes took nothing."""
        return all(each.total >= each.count for each in self._classes)


class _ClassRoom:
    """What machines can take of one class alone; ``total``: tasks, at most ``count`` on each machine."""

    def __init__(self, state: PreemptionState, cls: int, count: int) -> None:
        problem, shape = state.problem, int(state.problem.shape[cls])
        occupied = state.preemption.occupied
        feasible = problem.feasible[shape]
        self._open: Bool = problem.limit_to_pins(
            cls, feasible.copy() if occupied is None else feasible | occupied[shape]
        )
        self._heeded = np.flatnonzero(state.heeds(cls))
        self._request = state.request(cls)[self._heeded]
        self._room: Int64 = state.room[:, self._heeded].copy()
        self.count = count
        self._units = np.where(self._open, self._count_units(self._room), 0)
        self.total = int(self._units.sum())

    def _count_units(self, room: Int64) -> Int64:
        asks = self._request > 0
        units = np.full(len(room), self.count, dtype=np.int64)
        if asks.any():
            units = np.minimum(units, (room[:, asks] // self._request[asks]).min(axis=1))
        return np.where((room[:, ~asks] >= 0).all(axis=1), np.maximum(units, 0), 0)

    def enlarge(self, machine: int, size: Int64) -> None:
        """Add what a victim gives back on its machine."""
        self._room[machine] += size[self._heeded]
        if self._open[machine] and self._units[machine] < self.count:
            units = int(self._count_units(self._room[machine : machine + 1])[0])
            self.total += units - int(self._units[machine])
            self._units[machine] = units


def list_within_reach(
    state: PreemptionState,
    node: Int64,
    preemptor: Preemptor,
    members: Members,
    candidates: Sequence[int],
    everybody: Iterable[int],
) -> Sequence[int]:
    """Return the candidates that the rules of quotas might let the preemptor evict.

    Trials leave out all other candidates.

    Suppose that ``everybody`` has left: all candidates and the other members of their gangs. If the preemptor's side of
    the tree would even then have to borrow from a queue, the tasks of that queue are left out. ``node``: int64[V], the
    quota node that each task draws on.
    """
    bound = QuotaBound(state, everybody)
    quotas, columns = bound.quotas, _book_quota(bound.quotas, state, members)
    if columns is None:
        return candidates
    free = find_while_borrowing(state, preemptor)
    drawn = preemptor._replace(columns=columns)
    others = {int(node[each]) for each in candidates} - {preemptor.node}
    reached = {preemptor.node, *(other for other in others if stays_within(quotas, drawn, [other]))}
    return [each for each in candidates if free[each] or int(node[each]) in reached]


class BorrowingBound:
    """Tests, while victims leave one by one, whether the preemptor's side must borrow without being allowed to.

    The preemptor's side may not borrow from a queue whose tasks only leave for tasks within their own quota. ``state``
    stays as it is.
    """

    def __init__(self, state: PreemptionState, node: Int64, preemptor: Preemptor, members: Members) -> None:
        """``node``: int64[V], the quota node that each task draws on."""
        assert state.quotas is not None
        self._state, self._node, self._preemptor = state, node, preemptor
        self._freed, self._quotas = state.quotas.copy(), state.quotas.copy()
        self._columns = _book_quota(self._quotas, state, members)
        self._free = find_while_borrowing(state, preemptor)
        self._sides: set[int] = set()

    def let_go(self, victims: Sequence[int]) -> None:
        """Count some victims as gone: release their quota, and note from which sides of the tree they come."""
        for quotas in (self._freed, self._quotas):
            give_back(quotas, self._state.preemption, victims)
        own = self._preemptor.node
        others = {int(self._node[each]) for each in victims if not self._free[each]} - {own}
        self._sides |= {part_ways(self._quotas, own, other)[0] for other in others}

    def is_covered(self, victim: int) -> bool:
        """Return whether a task is in another queue than the preemptor, and that queue no longer borrows.

        With fair shares, the result is always False.
        """
        other, fair = int(self._node[victim]), self._quotas.terms.fair
        if other == self._preemptor.node or fair[self._preemptor.node]:
            return False
        return not is_borrowing(self._freed, self._preemptor, other)

    def is_exceeded(self) -> bool:
        """Return whether no placement is allowed with these victims.

        The result is False with fair shares, and if flavors depend on the machine.
        """
        if self._columns is None or self._quotas.terms.fair[self._preemptor.node]:
            return False
        return any(
            self._quotas.use.get_own_left(side, column) < 0
            for side in self._sides
            for column in self._columns
        )


def _book_quota(quotas: RemainingQuota, state: PreemptionState, members: Members) -> tuple[int, ...] | None:
    """Book the quota of tasks that come together; return the columns that they use.

    The result is None if the columns depend on the machine.
    """
    draw, shape = quotas.terms.draw, state.problem.shape
    columns: set[int] = set()
    for cls, count in members:
        number = int(draw[shape[cls]])
        kind = find_single_kind(quotas, number) if number >= 0 else None
        if number >= 0 and kind is None:
            return None
        if kind is not None:
            quotas.draw_on(number, kind, count)
            drawn = list_amounts(quotas.terms.draws[number], quotas.terms.covers[kind])
            columns.update(column for column, _ in drawn)
    return tuple(sorted(columns))


def find_single_kind(quotas: RemainingQuota, draw: int) -> int | None:
    """Return a kind of machines where a draw uses the same quota as everywhere; None if it depends on the machine.

    One kind stands for all if each resource group of the draw has a single flavor.
    """
    covers, groups = quotas.terms.covers[:-1], quotas.terms.draws[draw].groups
    if any(len(group.flavors) != 1 for group in groups):
        return None
    flavors = [group.flavors[0] for group in groups]
    kinds = np.flatnonzero(covers[:, flavors].all(axis=1))
    return int(kinds[0]) if len(kinds) else None
