"""Whether an eviction is progress: an order on the states of a tree of quotas; each eviction must lead to a higher one.

For each quota there is a list of the tasks that it covers: the most important first, as long as the quota suffices.
Where queues use fair shares, there is such a list for each share that a quota could have. One covered task is worth
more than all less important tasks together.

Two states are compared list by list: the lowest quotas first, then those above them; then, from the top of the tree
down, the lists by shares, the smallest share first; last, the tasks that have places at all. The first difference
decides. A placement without an eviction raises the state, too: the task joins some of these lists, and no more
important task leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.quota_order import QuotaShares
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quota_users import (
    AskedUser,
    Importance,
    QuotaFilling,
    QuotaUser,
    QuotaUsers,
)

MOST_STEPS = 512
"""Shares at which two states of one quota are compared; states that are equal at all of these count as no progress."""


class _Change(NamedTuple):
    """The difference between two states: victims that do not count (``free``), all victims (``gone``), and incoming
    tasks.
    """

    free: list[QuotaUser]
    gone: list[QuotaUser]
    come: list[QuotaUser]


class QuotaPotential:
    """Compares states of one round; ``node``: int64[V], the quota node that each task draws on, -1 for none."""

    def __init__(self, state: PreemptionState, node: Int64, shares: QuotaShares) -> None:
        terms, quotas = state.problem.quotas, state.quotas
        assert terms is not None
        assert quotas is not None
        self._terms, self._shares, self._node = terms, shares, node
        self._present = np.unique(node[node >= 0]).tolist()
        self._list_path = quotas.use.list_path
        self._state: PreemptionState | None = None
        self._users: dict[int, QuotaUsers] = {}

    def rises(
        self,
        before: PreemptionState,
        after: PreemptionState,
        queues: Iterable[int],
        newcomer: int,
        importance: Importance,
        victims: Sequence[int],
    ) -> bool:
        """Return whether the state after evicting victims for a task or a gang is above the state before.

        ``queues``: the quota nodes that all of these tasks draw on; ``newcomer``, ``importance``: the quota node and
        the importance of the task that comes. Less important tasks of its own queue do not count.
        """
        queues = set(queues)
        gone = [self._make_user(before, victim) for victim in victims]
        free = [
            user
            for user in gone
            if self._node[user.victim] == newcomer and importance_of(before, user.victim) < importance
        ]
        if len(free) == len(victims):
            return True
        if before is not self._state:
            self._users, self._state = {}, before
        come = self._list_coming(after, len(before.taken))
        depths: dict[int, set[int]] = {}
        for queue in queues:
            for above, node in enumerate(reversed(self._list_below_root(queue))):
                depths.setdefault(above, set()).add(node)
        if len(queues) > 1 and any(self._terms.fair[queue] for queue in queues):
            self._drop_common(depths)
        change = _Change(free, gone, come)
        for depth in sorted(depths, reverse=True):
            found = self._compare_protected(change, sorted(depths[depth]))
            if found:
                return found > 0
        for depth in sorted(depths):
            found = self._compare_shares(change, sorted(depths[depth]))
            if found:
                return found > 0
        return all(importance_of(before, victim) < importance for victim in victims)

    def follow(self, after: PreemptionState, victims: Sequence[int]) -> None:
        """Move to the state ``after``: since the last state compared, victims have left and newcomers come."""
        if self._state is None:
            return
        gone = [self._make_user(self._state, victim) for victim in victims]
        come = self._list_coming(after, len(self._state.taken))
        for node, users in self._users.items():
            users.change(self._select(gone, node), self._select(come, node))
        self._state = after

    def _drop_common(self, depths: dict[int, set[int]]) -> None:
        """Drop the quotas that lie above all tasks that take part: fair shares decide between the quotas below them."""
        for depth in sorted(depths):
            if len(depths[depth]) > 1 or len(depths) == 1:
                break
            del depths[depth]

    # --- what quotas bring in ------------------------------------------------------------------------------------

    def _compare_protected(self, change: _Change, nodes: Sequence[int]) -> int:
        """Return 1 if some quota covers more important tasks than before and none less important ones, -1 if any covers
        less important ones, 0 if nothing changes.
        """
        found = 0
        for node in nodes:
            compared = self._get_users(node).compare(
                *(self._select(each, node) for each in (change.free, change.gone, change.come))
            )
            if compared < 0:
                return -1
            found = max(found, compared)
        return found

    def _begin(self, node: int) -> QuotaFilling:
        return QuotaFilling(self._terms, self._list_path, node)

    # --- shares --------------------------------------------------------------------------------------------------

    def _compare_shares(self, change: _Change, nodes: Sequence[int]) -> int:
        """Return 1, 0 or -1, as ``_compare_protected``, for the smallest share at which the states differ."""
        smallest, found = float("inf"), 0
        for node in nodes:
            if self._terms.fair[node] and self._terms.tree.parent[node] >= 0:
                share, sign = self._find_difference(change, node)
                if share < smallest:
                    smallest, found = share, sign
                elif share == smallest:
                    found = min(found, sign)
        return found

    def _find_difference(self, change: _Change, node: int) -> tuple[float, int]:
        """Return the smallest share of a node at which the two states cover different tasks, and which state is higher.

        1: the state after the evictions; -1: the state before; 0, with an infinite share, if there is no difference.
        """
        users, come = self._get_users(node), self._select(change.come, node)
        before = users.list_edited(self._select(change.free, node))
        after = users.list_edited(self._select(change.gone, node), come)
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
        self, users: Sequence[AskedUser], node: int, share: float
    ) -> tuple[list[Importance], float]:
        """Return the tasks that the quota covers up to a share, and the next share at which it may cover more."""
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
        """Return a quota node and the nodes above it without the root, or only the root if the node is the root."""
        path = self._list_path(queue)
        return path[:-1] or path

    def _select(self, users: Sequence[QuotaUser], node: int) -> list[QuotaUser]:
        """Return the users that draw on a quota node or on a node below it."""
        draws = self._terms.draws
        return [user for user in users if self._is_at(draws[user.draw].node, node)]

    def _is_at(self, queue: int, node: int) -> bool:
        return queue >= 0 and node in self._list_below_root(queue)

    def _get_users(self, node: int) -> QuotaUsers:
        """Return the users of a quota node and of the nodes below it in the current state."""
        found, state = self._users.get(node), self._state
        if found is None:
            assert state is not None
            queues = [queue for queue in self._present if self._is_at(queue, node)]
            victims = np.flatnonzero(~state.gone & np.isin(self._node, queues)).tolist()
            staying = [self._make_user(state, victim) for victim in victims]
            come = self._select(self._list_coming(state, 0), node)
            found = QuotaUsers(self._terms, lambda: self._begin(node), [*staying, *come])
            self._users[node] = found
        return found

    def _make_user(self, state: PreemptionState, victim: int) -> QuotaUser:
        preemption = state.preemption
        return QuotaUser(
            importance_of(state, victim),
            int(preemption.draw[victim]),
            int(preemption.machine[victim]),
            victim,
        )

    def _list_coming(self, state: PreemptionState, first: int) -> list[QuotaUser]:
        """Return the tasks that have got places in a state, without the ``first`` ones."""
        draw, shape = self._terms.draw, state.problem.shape
        places = [(cls, machine, int(draw[shape[cls]])) for cls, machine in state.taken[first:]]
        return [
            QuotaUser(rank_of(state, cls), number, machine) for cls, machine, number in places if number >= 0
        ]


def importance_of(state: PreemptionState, victim: int) -> Importance:
    """Return the importance of a task on a machine."""
    preemption = state.preemption
    return int(preemption.victim_priority[victim]), -int(preemption.age[victim])


def rank_of(state: PreemptionState, cls: int) -> Importance:
    """Return the importance of the waiting tasks of a class."""
    preemption = state.preemption
    return int(preemption.priority[cls]), -int(preemption.since[cls])
