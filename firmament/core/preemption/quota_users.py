"""Lists the tasks that draw on a quota, the most important first, and finds which of them the quota covers.

Two states that are compared differ in few tasks. Both states therefore list the same tasks before the first task in
which they differ. The use of this common part is stored at marks along the list, and only the rest of the list is
recomputed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.quota_terms import QuotaTerms, list_amounts
from firmament.core.constraints.remaining_quota import RemainingQuota

Importance: TypeAlias = tuple[int, int]
"""Importance of a task: its priority, then its age (of equal priorities, the older task is more important)."""

_APART = 8
"""Number of tasks between two marks."""


class QuotaUser(NamedTuple):
    """A task that uses quota, and the machine where it runs or would run."""

    importance: Importance
    draw: int
    machine: int
    victim: int = -1
    """Index of the task among those on machines, -1 for a task that comes."""


AskedUser: TypeAlias = tuple[QuotaUser, list[tuple[int, int]]]
"""A task, and the (column, amount) pairs that it draws on a quota."""


class QuotaFilling:
    """Counts what a quota and the quotas below it use, while tasks are added one by one.

    Each quota has a part that it does not lend; use beyond this part counts at the quota above it.
    """

    def __init__(self, terms: QuotaTerms, list_path: Callable[[int], tuple[int, ...]], node: int) -> None:
        self._terms, self._list_path, self._node = terms, list_path, node
        self._used: dict[int, Int64] = {}
        self._before: dict[int, Int64] = {}

    def copy(self) -> QuotaFilling:
        """Return an independent copy."""
        twin = QuotaFilling(self._terms, self._list_path, self._node)
        twin._used = dict(self._used)
        return twin

    def add(self, user: QuotaUser, asked: Sequence[tuple[int, int]]) -> Int64:
        """Add a task; return what the quota then uses of each column: int64[J]."""
        tree = self._terms.tree
        passed = np.zeros(tree.subtree.shape[1], dtype=np.int64)
        for column, amount in asked:
            passed[column] += amount
        self._before = {}
        for each in self._list_path(self._terms.draws[user.draw].node):
            before = self._used.get(each)
            before = np.zeros_like(passed) if before is None else before
            self._before[each], self._used[each] = before, before + passed
            if each == self._node:
                break
            local = tree.local[each]
            passed = np.maximum(self._used[each] - local, 0) - np.maximum(before - local, 0)
        return self._used[self._node]

    def take_back(self) -> None:
        """Remove the task that was added last."""
        self._used.update(self._before)

    def add_if_enough(self, user: QuotaUser, asked: Sequence[tuple[int, int]]) -> bool:
        """Add a task if the quota has enough for it; return whether it has."""
        subtree, used = self._terms.tree.subtree[self._node], self.add(user, asked)
        enough = all(used[column] <= subtree[column] for column, _ in asked)
        if not enough:
            self.take_back()
        return enough


class QuotaUsers:
    """The tasks that use one quota, the most important first; ``begin`` returns an empty count of its use."""

    def __init__(
        self, terms: QuotaTerms, begin: Callable[[], QuotaFilling], users: Iterable[QuotaUser]
    ) -> None:
        self._terms, self._begin = terms, begin
        found = sorted(users, key=_order)
        self._asked: list[AskedUser] = [self._ask(user) for user in found]
        self._keys = [_order(user) for user in found]
        self._marks = [begin()]

    def _ask(self, user: QuotaUser) -> AskedUser:
        terms = self._terms
        return user, list_amounts(terms.draws[user.draw], terms.covers[terms.kind[user.machine]])

    def compare(
        self, without: Sequence[QuotaUser], gone: Sequence[QuotaUser], arriving: Sequence[QuotaUser]
    ) -> int:
        """Return 1 if the quota covers more important tasks after a change, -1 if less important ones, else 0.

        ``gone``, ``arriving``: tasks that leave and come; ``without``: tasks that do not count in the state before.
        """
        places = [bisect_left(self._keys, _order(user)) for user in (*without, *gone)]
        places += [
            bisect_right(self._keys, _order(user)) for user in arriving
        ]  # after users of equal importance
        if not places:
            return 0
        start = min(places)
        filling, tail = self._fill_up_to(start), self._asked[start:]
        then = self._list_covered(filling.copy(), _edit(tail, without, ()))
        now = self._list_covered(filling, _edit(tail, gone, [self._ask(user) for user in arriving]))
        return (now > then) - (now < then)

    def list_covered(self) -> set[int]:
        """Return the indices of the tasks on machines that the quota covers."""
        filling = self._begin()
        return {user.victim for user, asked in self._asked if filling.add_if_enough(user, asked)}

    def change(self, gone: Sequence[QuotaUser], arriving: Sequence[QuotaUser]) -> None:
        """Remove the users in ``gone``, and insert those in ``arriving``."""
        for user in gone:
            at = bisect_left(self._keys, _order(user))
            while self._asked[at][0].victim != user.victim:
                at += 1
            del self._keys[at], self._asked[at], self._marks[at // _APART + 1 :]
        for user in arriving:
            at = bisect_right(self._keys, _order(user))
            self._keys.insert(at, _order(user))
            self._asked.insert(at, self._ask(user))
            del self._marks[at // _APART + 1 :]

    def _fill_up_to(self, position: int) -> QuotaFilling:
        """Return the use of the tasks before a position in the list, as far as the quota covers them."""
        while len(self._marks) <= position // _APART:
            last = len(self._marks)
            self._marks.append(self._advance(last - 1, last * _APART))
        return self._advance(position // _APART, position)

    def _advance(self, mark: int, position: int) -> QuotaFilling:
        filling = self._marks[mark].copy()
        for user, asked in self._asked[mark * _APART : position]:
            filling.add_if_enough(user, asked)
        return filling

    @staticmethod
    def _list_covered(filling: QuotaFilling, users: Iterable[AskedUser]) -> list[Importance]:
        return [user.importance for user, asked in users if filling.add_if_enough(user, asked)]


def find_covered(room: RemainingQuota, users: Sequence[QuotaUser]) -> set[int]:
    """Return the indices of the tasks that some quota covers; roots of trees do not count."""
    terms, use = room.terms, room.use
    below: dict[int, list[QuotaUser]] = {}
    for user in users:
        node = terms.draws[user.draw].node
        for each in use.list_path(node)[:-1] if node >= 0 else ():
            below.setdefault(each, []).append(user)
    covered: set[int] = set()
    for node, there in below.items():
        if not terms.tree.subtree[node].any():
            continue
        if (use.used[node] <= terms.tree.subtree[node]).all():
            covered.update(user.victim for user in there)
            continue
        filling = QuotaFilling(terms, use.list_path, node)
        for user in sorted(there, key=_order):
            asked = list_amounts(terms.draws[user.draw], terms.covers[terms.kind[user.machine]])
            if filling.add_if_enough(user, asked):
                covered.add(user.victim)
    return covered


def _order(user: QuotaUser) -> tuple[int, int]:
    """Return the key that sorts the most important tasks first."""
    return -user.importance[0], -user.importance[1]


def _edit(
    users: Sequence[AskedUser], without: Collection[QuotaUser], arriving: Sequence[AskedUser]
) -> list[AskedUser]:
    """Return the tasks in order, without those in ``without`` and with those in ``arriving``."""
    out = {user.victim for user in without}
    found = [each for each in users if each[0].victim not in out] if out else list(users)
    return sorted([*found, *arriving], key=lambda each: _order(each[0])) if arriving else found
