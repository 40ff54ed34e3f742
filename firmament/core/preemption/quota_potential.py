"""Whether an eviction is progress: an order on the states of a tree of quotas, in which each eviction has to go up.

For each quota there is a list of the tasks that it covers: the most important first, as long as the quota suffices.
Where queues go by shares, there is such a list for each share that a quota could have. A covered task is worth more
than all less important ones.

Two states are compared list by list: the lowest quotas first, then those above them; then, from the top of the tree
down, the lists by shares, the smallest share first; last, the tasks that have places at all. The first difference
decides. A task that gets a place without an eviction raises the state, too: it joins some of these lists, and no more
important task leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.quota_order import QuotaShares, list_amounts
from firmament.core.constraints.quota_room import QuotaTerms
from firmament.core.preemption.node_state import PreemptionState

MOST_STEPS = 512
"""Shares at which two states of one quota are compared; alike up to there, they are taken for no progress."""

Importance = tuple[int, int]
"""Standing, and age: the older task is more important."""


class QuotaUser(NamedTuple):
    """A task that uses quota, on a machine."""

    importance: Importance
    draw: int
    machine: int


class QuotaFilling:
    """What a quota and those below it use while tasks are taken up one after another: what goes beyond the part of a
    quota that it does not lend counts at the one above it.
    """

    def __init__(self, terms: QuotaTerms, list_path: Callable[[int], tuple[int, ...]], node: int) -> None:
        self._terms, self._list_path, self._node = terms, list_path, node
        self._used: dict[int, Int64] = {}
        self._before: dict[int, Int64] = {}

    def add(self, user: QuotaUser, asked: Sequence[tuple[int, int]]) -> Int64:
        """Take one more up; returns what the quota uses then: int64[J]."""
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
        """Give back what the last one took."""
        self._used.update(self._before)


class QuotaPotential:
    """Compares states of one round; ``node``: int64[V], the quota that each task draws on, -1 for none."""

    def __init__(self, state: PreemptionState, node: Int64, shares: QuotaShares) -> None:
        terms, quotas = state.problem.quotas, state.quotas
        assert terms is not None
        assert quotas is not None
        self._terms, self._shares, self._node = terms, shares, node
        self._present = np.unique(node[node >= 0]).tolist()
        self._list_path = quotas.use.list_path

    def rises(
        self,
        before: PreemptionState,
        after: PreemptionState,
        queues: Iterable[int],
        newcomer: int,
        importance: Importance,
        victims: Sequence[int],
    ) -> bool:
        """Return whether the state after some have gone for a task, or a gang, is above the one before.

        ``queues``: the quotas that all of them draw on; ``newcomer``, ``importance``: the quota of the one that comes,
        and how important it is. Less important tasks of its own queue are left out of account.
        """
        queues = set(queues)
        free = {victim for victim in victims if self._node[victim] == newcomer}
        free = {victim for victim in free if importance_of(before, victim) < importance}
        if len(free) == len(victims):
            return True
        depths: dict[int, set[int]] = {}
        for queue in queues:
            for above, node in enumerate(reversed(self._list_below_root(queue))):
                depths.setdefault(above, set()).add(node)
        if len(queues) > 1 and any(self._terms.fair[queue] for queue in queues):
            self._drop_common(depths)
        concerned = set().union(*depths.values())
        present = {*self._present, *(int(each) for each in self._find_taking(after))}
        below = {node for node in present if not concerned.isdisjoint(self._list_below_root(node))}
        then, now = self._list_users(before, below, free), self._list_users(after, below)
        for depth in sorted(depths, reverse=True):
            found = self._compare_protected(then, now, sorted(depths[depth]))
            if found:
                return found > 0
        for depth in sorted(depths):
            found = self._compare_shares(then, now, sorted(depths[depth]))
            if found:
                return found > 0
        return all(importance_of(before, victim) < importance for victim in victims)

    def _drop_common(self, depths: dict[int, set[int]]) -> None:
        """Drop the quotas above all that take part: between those below them, shares decide."""
        for depth in sorted(depths):
            if len(depths[depth]) > 1 or len(depths) == 1:
                break
            del depths[depth]

    def _find_taking(self, state: PreemptionState) -> Int64:
        """Return the quotas on which those draw who have got places."""
        shapes = state.problem.shape[[cls for cls, _ in state.taken]]
        nodes = self._terms.find_nodes(shapes)
        return nodes[nodes >= 0]

    # --- what quotas bring in ------------------------------------------------------------------------------------

    def _compare_protected(self, then: list[QuotaUser], now: list[QuotaUser], nodes: Sequence[int]) -> int:
        """Return whether more important tasks are protected at some nodes (1), or less at any (-1); 0: no change."""
        found = 0
        for node in nodes:
            before, after = self._list_protected(then, node), self._list_protected(now, node)
            if after < before:
                return -1
            found = max(found, int(after > before))
        return found

    def _list_protected(self, users: list[QuotaUser], node: int) -> list[Importance]:
        """Return the tasks that what a quota and those below it bring in is for: each, the most important first, as
        long as there is enough.
        """
        subtree, filling, found = self._terms.tree.subtree[node], self._begin(node), []
        for user, asked in self._list_asked(users, node):
            used = filling.add(user, asked)
            if all(used[column] <= subtree[column] for column, _ in asked):
                found.append(user.importance)
            else:
                filling.take_back()
        return found

    def _begin(self, node: int) -> QuotaFilling:
        return QuotaFilling(self._terms, self._list_path, node)

    # --- shares --------------------------------------------------------------------------------------------------

    def _compare_shares(self, then: list[QuotaUser], now: list[QuotaUser], nodes: Sequence[int]) -> int:
        """Return the same for the smallest share at which the tasks of some nodes differ."""
        smallest, found = float("inf"), 0
        for node in nodes:
            if self._terms.fair[node] and self._terms.tree.parent[node] >= 0:
                share, sign = self._find_difference(then, now, node)
                if share < smallest:
                    smallest, found = share, sign
                elif share == smallest:
                    found = min(found, sign)
        return found

    def _find_difference(self, then: list[QuotaUser], now: list[QuotaUser], node: int) -> tuple[float, int]:
        """Return the smallest share of a node up to which other tasks are protected than before, and in whose favour:
        1: the state after it; infinity and 0 for none.
        """
        before, after = list(self._list_asked(then, node)), list(self._list_asked(now, node))
        share = 0.0
        for _ in range(MOST_STEPS):
            had, next_then = self._list_up_to(before, node, share)
            has, next_now = self._list_up_to(after, node, share)
            if had != has:
                return share, 1 if has > had else -1
            share = min(next_then, next_now)
            if share == float("inf"):
                return share, 0
        return share, -1

    def _list_up_to(
        self, users: Sequence[tuple[QuotaUser, list[tuple[int, int]]]], node: int, share: float
    ) -> tuple[list[Importance], float]:
        """Return the tasks for which there is enough up to a share, and the share from which it may be more."""
        filling = self._begin(node)
        further, found = float("inf"), []
        for user, asked in users:
            needs = self._shares.compute(node, filling.add(user, asked))
            if needs <= share:
                found.append(user.importance)
                continue
            further = min(further, needs)
            filling.take_back()
        return found, further

    # --- who uses quota ------------------------------------------------------------------------------------------

    def _list_below_root(self, queue: int) -> tuple[int, ...]:
        """Return a quota and those above it, the one at the top left out, unless it is the only one."""
        path = self._list_path(queue)
        return path[:-1] or path

    def _list_asked(
        self, users: Sequence[QuotaUser], node: int
    ) -> Iterable[tuple[QuotaUser, list[tuple[int, int]]]]:
        """Yield the users at a node and below it, with column and amount of what they take."""
        terms = self._terms
        for user in users:
            draw = terms.draws[user.draw]
            if draw.node >= 0 and node in self._list_below_root(draw.node):
                yield user, list_amounts(draw, terms.covers[terms.kind[user.machine]])

    def _list_users(
        self, state: PreemptionState, queues: set[int], without: Collection[int] = ()
    ) -> list[QuotaUser]:
        """Return the tasks of some queues that stay, or have got a place, the most important first."""
        preemption, terms = state.preemption, self._terms
        users = [
            QuotaUser(
                importance_of(state, victim), int(preemption.draw[victim]), int(preemption.machine[victim])
            )
            for victim in np.flatnonzero(~state.gone & np.isin(self._node, sorted(queues))).tolist()
            if victim not in without
        ]
        for cls, machine in state.taken:
            draw = int(terms.draw[state.problem.shape[cls]])
            if draw >= 0 and terms.draws[draw].node in queues:
                users.append(QuotaUser(rank_of(state, cls), draw, machine))
        return sorted(users, key=lambda user: user.importance, reverse=True)


def importance_of(state: PreemptionState, victim: int) -> Importance:
    """Return the importance of a task that has a machine."""
    preemption = state.preemption
    return int(preemption.victim_priority[victim]), -int(preemption.sequence[victim])


def rank_of(state: PreemptionState, cls: int) -> Importance:
    """Return the importance of the tasks of a class that wait."""
    preemption = state.preemption
    return int(preemption.priority[cls]), -int(preemption.since[cls])
