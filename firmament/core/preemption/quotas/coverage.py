"""Decides whether quotas cover more important tasks after an eviction for quota than before the eviction.

A quota covers the most important of the tasks that draw on it or on quotas below it, as far as it suffices. A covered
task counts more than all less important tasks together. Two states are compared quota by quota, the lowest level of
the tree first, then the levels above it. If the quotas show no difference, the tasks that have places at all are
compared. The first difference between the states decides. A task that has to borrow therefore does not evict a task
that another queue's own quota covers, since that queue would take the quota back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quota_users import (
    Importance,
    QuotaFilling,
    QuotaUser,
    QuotaUsers,
)


class _Change(NamedTuple):
    """The difference between two states, in tasks that use quota.

    ``gone``: the victims; ``free``: the victims that do not count; ``arriving``: the tasks that come.
    """

    free: list[QuotaUser]
    gone: list[QuotaUser]
    arriving: list[QuotaUser]


class QuotaCoverage:
    """Compares two states of a round by the tasks that quotas cover in each of them.

    ``node``: int64[V], the quota node that each task draws on, -1 for none.
    """

    def __init__(self, state: PreemptionState, node: Int64) -> None:
        terms, quotas = state.problem.quotas, state.quotas
        assert terms is not None
        assert quotas is not None
        self._terms, self._node = terms, node
        self._present = np.unique(node[node >= 0]).tolist()
        self._list_path = quotas.use.list_path
        self._state: PreemptionState | None = None
        self._users: dict[int, QuotaUsers] = {}
        self._covered: dict[int, set[int]] = {}

    def is_better(
        self,
        before: PreemptionState,
        after: PreemptionState,
        preemptor: int,
        importance: Importance,
        victims: Sequence[int],
    ) -> bool:
        """Return whether the state after evicting victims for a task or a gang is better than the state before.

        ``preemptor``, ``importance``: the quota node and the importance of the task that comes. Two kinds of victims do
        not count: less important tasks of the preemptor's own queue, and gangs that leave as a whole and that their
        queue covers only in part. With fair shares, the result is always True, as the shares decide which tasks leave.
        """
        if self._terms.fair[preemptor]:
            return True
        gone = [self._make_user(before, victim) for victim in victims]
        free = [
            user
            for user in gone
            if self._node[user.victim] == preemptor and importance_of(before, user.victim) < importance
        ]
        if len(free) == len(victims):
            return True
        if before is not self._state:
            self._users, self._covered, self._state = {}, {}, before
        in_part = self._find_covered_in_part(victims)
        free += [user for user in gone if user.victim in in_part and user not in free]
        arriving = self._list_coming(after, len(before.taken))
        depths: dict[int, set[int]] = {}
        for queue in {preemptor, *self._node[victims].tolist()}:
            for above, node in enumerate(reversed(self._list_below_root(queue))):
                depths.setdefault(above, set()).add(node)
        change = _Change(free, gone, arriving)
        for depth in sorted(depths, reverse=True):
            found = self._compare_protected(change, sorted(depths[depth]))
            if found:
                return found > 0
        return all(importance_of(before, victim) < importance for victim in victims)

    def follow(self, after: PreemptionState, victims: Sequence[int]) -> None:
        """Compare later states with the state ``after``, in which ``victims`` have left and other tasks have come."""
        if self._state is None:
            return
        gone = [self._make_user(self._state, victim) for victim in victims]
        arriving = self._list_coming(after, len(self._state.taken))
        for node, users in self._users.items():
            users.change(self._select(gone, node), self._select(arriving, node))
        self._state, self._covered = after, {}

    # --- what quotas bring in ------------------------------------------------------------------------------------

    def _compare_protected(self, change: _Change, nodes: Sequence[int]) -> int:
        """Return 1 if some quota covers more important tasks than before, and none covers less important ones.

        Return -1 if any quota covers less important tasks, and 0 if nothing changes.
        """
        found = 0
        for node in nodes:
            compared = self._get_users(node).compare(
                *(self._select(each, node) for each in (change.free, change.gone, change.arriving))
            )
            if compared < 0:
                return -1
            found = max(found, compared)
        return found

    def _find_covered_in_part(self, victims: Sequence[int]) -> set[int]:
        """Return the victims in gangs that leave as a whole and of which their queue covers some tasks, but not all."""
        state, found = self._state, set[int]()
        assert state is not None
        gangs = np.unique(state.preemption.gang[victims]).tolist() if len(state.spare) else []
        for gang in gangs:
            members = [victim for victim in victims if state.preemption.gang[victim] == gang >= 0]
            uncovered = [
                victim for victim in members if victim not in self._list_covered(int(self._node[victim]))
            ]
            if uncovered and set(members) <= set(state.add_gangs(uncovered[:1])):
                found.update(members)
        return found

    def _list_covered(self, node: int) -> set[int]:
        """Return the indices of the tasks on machines that a quota covers."""
        covered = self._covered.get(node)
        if covered is None:
            covered = self._covered[node] = self._get_users(node).list_covered()
        return covered

    def _begin(self, node: int) -> QuotaFilling:
        return QuotaFilling(self._terms, self._list_path, node)

    # --- tasks that use quota ------------------------------------------------------------------------------------

    def _list_below_root(self, queue: int) -> tuple[int, ...]:
        """Return a quota node and the nodes above it except the root; for a root, only the root itself."""
        path = self._list_path(queue)
        return path[:-1] or path

    def _select(self, users: Sequence[QuotaUser], node: int) -> list[QuotaUser]:
        """Return the tasks in ``users`` that draw on a quota node or on a node below it."""
        draws = self._terms.draws
        return [user for user in users if self._is_at(draws[user.draw].node, node)]

    def _is_at(self, queue: int, node: int) -> bool:
        return queue >= 0 and node in self._list_below_root(queue)

    def _get_users(self, node: int) -> QuotaUsers:
        """Return the tasks that use a quota node or a node below it in the current state."""
        found, state = self._users.get(node), self._state
        if found is None:
            assert state is not None
            queues = [queue for queue in self._present if self._is_at(queue, node)]
            victims = np.flatnonzero(~state.gone & np.isin(self._node, queues)).tolist()
            staying = [self._make_user(state, victim) for victim in victims]
            arriving = self._select(self._list_coming(state, 0), node)
            found = QuotaUsers(self._terms, lambda: self._begin(node), [*staying, *arriving])
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
        """Return the tasks that have got places in a state, except the ``first`` ones of them."""
        draw, shape = self._terms.draw, state.problem.shape
        places = [(cls, machine, int(draw[shape[cls]])) for cls, machine in state.taken[first:]]
        return [
            QuotaUser(rank_of(state, cls), number, machine) for cls, machine, number in places if number >= 0
        ]


def importance_of(state: PreemptionState, victim: int) -> Importance:
    """Return the importance of a task on a machine: its priority and its age."""
    preemption = state.preemption
    return int(preemption.victim_priority[victim]), -int(preemption.age[victim])


def rank_of(state: PreemptionState, cls: int) -> Importance:
    """Return the importance of the waiting tasks of a class: their priority, and the age of the first task."""
    preemption = state.preemption
    return int(preemption.priority[cls]), -int(preemption.since[cls])
