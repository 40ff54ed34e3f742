"""Computes for how many waiting tasks quota could be available now.

Capacity that the tasks' queues could take from other queues counts as available.

All numbers are upper bounds: no round places more tasks of these classes, however much capacity machines have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import Draw
from firmament.core.constraints.remaining_quota import ENDLESS, RemainingQuota
from firmament.core.queue.order import Importance
from firmament.core.ranks import group_rows, rank
from firmament.core.rules.framework.limit_rule import RoundDemand
from firmament.core.rules.gangs.members import count_together, describe_needs
from firmament.core.rules.registry import find_quotas, list_drawing, number_draws
from firmament.core.rules.tree_groups.compilation import list_groups
from firmament.core.state.cluster import Cluster


class QuotaBounds:
    """The quotas as they are now, and which waiting tasks they would admit."""

    def __init__(self, cluster: Cluster, classes: Sequence[int], apart: Collection[str] = ()) -> None:
        """``classes``: rows of the classes to be judged; judging classes that use no quota takes no time.

        ``apart``: gangs that are unlike all others, because capacity is kept for them.
        """
        self._cluster, self._apart = cluster, {*apart}
        self._draw_of: dict[int, int] = {}
        self._room: RemainingQuota | None = None
        rows = cluster.classes.rows
        drawing = sorted({*classes}.intersection(list_drawing(cluster)))
        if not drawing:
            return
        shapes = sorted({rows[cls].shape for cls in drawing})
        nothing = np.zeros(len(shapes), dtype=np.int64)
        terms = find_quotas(cluster, RoundDemand(shapes, nothing, nothing[:, None]))
        if terms is not None:
            draw = dict(zip(shapes, terms.draw.tolist(), strict=True))
            self._room = RemainingQuota(terms)
            self._draw_of = {cls: draw[rows[cls].shape] for cls in drawing}
            # Each tree group has rules of its own, so no two of them are alike.
            self._apart |= list_groups(cluster)

    def select(self, cls: int, members: Int64) -> Int64:
        """Return those of a class's waiting tasks ``members`` (rows) that should be tried, judged by quotas alone.

        If tasks or gangs are equal, only the oldest are returned, as many as there can be quota for. When the oldest
        are placed, the function is asked again about the rest. If a queue may evict others to get quota, at least one
        task is returned; rounds make sure that they evict no task in vain. If a queue is strict about the order of
        its tasks, either all tasks of the class are returned, or none.
        """
        draw = self._draw_of.get(cls, -1)
        if draw < 0:
            return members
        assert self._room is not None
        terms = self._room.terms
        wanted = terms.draws[draw]
        if wanted.node < 0 or wanted.refused:
            return members[:0]
        if terms.strict[wanted.node]:
            return members
        together = self._count_together(members)
        units = max(self._room.count_units(draw), self._count_after_evictions(cls, wanted, members))
        if units < together:
            units = 1 if self._contested[wanted.node] else 0
        return members if units >= len(members) else self._select_oldest(members, units)

    def _select_oldest(self, members: Int64, units: int) -> Int64:
        """Return the oldest of each kind of equal tasks and gangs, with ``units`` tasks together."""
        if not units:
            return members[:0]
        tasks = self._cluster.tasks
        order = members[tasks.sort_by_age(members)]
        names = [tasks.job[row] for row in order.tolist()]
        number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
        job = np.array([number_of[name] for name in names], dtype=np.int64)
        counts = np.bincount(job).tolist()
        needs = [self._describe_gang(name, count) for name, count in zip(number_of, counts, strict=True)]
        kinds: dict[Hashable, int] = {}
        kind = np.array([kinds.setdefault(each, len(kinds)) for each in needs], dtype=np.int64)[job]
        for priority in (tasks.priority[order], tasks.group_priority[order]):
            values, of = np.unique(priority, return_inverse=True)
            kind = kind * len(values) + of
        among = rank(kind) < units
        # If one task of a gang is among the oldest, the gang takes part, at the position of this task.
        place, first = np.arange(len(order)), np.full(len(counts), len(order))
        np.minimum.at(first, job[among], place[among])
        alone = np.array([each is None for each in needs])[job]
        return order[np.where(alone, among, place >= first[job])]

    def _describe_gang(self, name: str, waiting: int) -> Hashable:
        """Return a key that is equal for gangs that need equal machines; None for tasks in no gang.

        ``waiting``: the number of the gang's tasks of the examined class that wait for a change.
        """
        jobs, tasks = self._cluster.jobs, self._cluster.tasks
        gang = jobs.gang(name)
        if gang is None:
            return None
        if jobs.count_members(name) != waiting or name in self._apart:
            return name
        if self._backs_off and tasks.not_before[jobs.members(name)].any():
            return name
        return waiting, describe_needs(gang)

    def _count_together(self, members: Int64) -> int:
        """Return how many tasks of a class (rows) must be placed at once at least: what the smallest gang needs."""
        jobs, tasks = self._cluster.jobs, self._cluster.tasks
        if not jobs.gangs:
            return 1
        fewest = ENDLESS
        for name, waiting in Counter(tasks.job[row] for row in members.tolist()).items():
            gang = jobs.gang(name)
            others = jobs.count_members(name) - waiting if gang is not None else 0
            fewest = min(fewest, 1 if gang is None else max(1, count_together(gang, others)))
            if fewest == 1:
                break
        return fewest

    # --- tasks that leave for others -----------------------------------------------------------------------------

    def _count_after_evictions(self, cls: int, wanted: Draw, members: Int64) -> int:
        """Return for how many tasks there can be quota after evictions.

        Two kinds of evictions count: those that the tasks' queue may cause, and those under way anyway.
        """
        room = self._room
        assert room is not None
        terms, node, use = room.terms, wanted.node, room.use
        within, reclaims, while_borrowing = terms.within[node], terms.reclaim[node] > 0, terms.borrows[node]
        if (
            not (within or reclaims or while_borrowing)
            or self._cluster.classes.rows[cls].content.never_preempts
        ):
            return 0
        if self._are_in_trees(members):  # If trees of groups need evictions, one tree at a time is tried.
            return 0
        path = use.list_path(node)
        several = any(len(group.flavors) != 1 for group in wanted.groups)
        if terms.fair[node] or several or path[-1] in self._leaving:
            return len(members)
        amounts = [
            pair for group in wanted.groups for pair in zip(group.columns[0], group.amounts, strict=True)
        ]
        freed = self._sum_less_important(node, members, int(within))
        own_room = any(
            all(
                use.get_own_left(above, column) + freed[column] >= (amount if above == node else 0)
                for column, amount in amounts
            )
            for above in path[:-1]
        )
        if while_borrowing or (reclaims and own_room):
            freed = freed + self._sum_of_borrowers(node, path[-1])
        if not any(freed[column] > 0 for column, _ in amounts):
            return 0
        return min(int(use.get_left(node, column) + freed[column]) // amount for column, amount in amounts)

    def _are_in_trees(self, members: Int64) -> bool:
        jobs = self._cluster.jobs
        if not jobs.has_trees:
            return False
        gangs = (jobs.gang(name) for name in {self._cluster.tasks.job[row] for row in members.tolist()})
        return all(gang is not None and bool(gang.groups) for gang in gangs)

    def _sum_of_borrowers(self, node: int, root: int) -> Int64:
        """Return what borrowing queues in the tree of ``root`` use, other than the queue ``node``: int64[J]."""
        assert self._room is not None
        use = self._room.use
        borrows = (use.used > use.tree.subtree).any(axis=1) & (self._roots == root)
        borrows[node] = False
        found: Int64 = use.own[borrows].sum(axis=0)
        return found

    def _sum_less_important(self, node: int, members: Int64, policy: int) -> Int64:
        """Return what tasks of a queue use that its policy ``within`` lets its other tasks evict: int64[J]."""
        assert self._room is not None
        terms = self._room.terms
        found = np.zeros(len(terms.columns), dtype=np.int64)
        if not policy or node not in self._users:
            return found
        draws, victim_rank = self._users[node]
        own_rank = int(self._importance.rank_preemptors(self._cluster.tasks, members).max())
        less = victim_rank < own_rank if policy == 1 else victim_rank <= own_rank
        for draw, count in zip(
            *(each.tolist() for each in np.unique(draws[less], return_counts=True)), strict=True
        ):
            for group in terms.draws[draw].groups:
                for columns in group.columns:
                    found[list(columns)] += np.array(group.amounts, dtype=np.int64) * count
        return found

    @cached_property
    def _backs_off(self) -> bool:
        """Whether some task must not be tried before a certain time."""
        return bool(self._cluster.tasks.not_before.any())

    @cached_property
    def _contested(self) -> Bool:
        assert self._room is not None
        return self._room.terms.find_contested()

    @cached_property
    def _roots(self) -> Int64:
        assert self._room is not None
        return self._room.terms.find_roots()

    @cached_property
    def _importance(self) -> Importance:
        return Importance.from_tasks(self._cluster.tasks)

    @cached_property
    def _placed(self) -> tuple[Int64, Int64]:
        """Rows of the tasks on machines that use quotas, and what each takes (its draw)."""
        assert self._room is not None
        tasks, classes = self._cluster.tasks, list_drawing(self._cluster)
        draw = np.full(len(self._cluster.classes.rows), -1, dtype=np.int64)
        draw[classes] = number_draws(self._cluster, self._room.terms, classes)
        rows = np.flatnonzero(tasks.find_placed())
        rows = rows[draw[tasks.cls[rows]] >= 0]
        return rows, draw[tasks.cls[rows]]

    @cached_property
    def _leaving(self) -> frozenset[int]:
        """The roots of the quota trees that leaving tasks use."""
        assert self._room is not None
        rows, draw = self._placed
        node = self._room.terms.find_nodes_of(draw[self._cluster.tasks.leaving[rows]])
        return frozenset(self._roots[node[node >= 0]].tolist())

    @cached_property
    def _users(self) -> Mapping[int, tuple[Int64, Int64]]:
        """By queue (a node of a quota tree), what tasks on machines take.

        Each entry has the draw of a task, and the lowest rank as a victim in its gang.
        """
        assert self._room is not None
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        rows, draw = self._placed
        victim_rank = self._importance.rank_victims(tasks, rows)
        if gangs:
            lowest: dict[str, int] = {}
            jobs = [tasks.job[row] for row in rows.tolist()]
            for job, each in zip(jobs, victim_rank.tolist(), strict=True):
                if job in gangs:
                    lowest[job] = min(each, lowest.get(job, each))
            of_gang = [lowest.get(job, each) for job, each in zip(jobs, victim_rank.tolist(), strict=True)]
            victim_rank = np.array(of_gang, dtype=np.int64)
        node, of = np.unique(self._room.terms.find_nodes_of(draw), return_inverse=True)
        parts = group_rows(of)
        return {
            each: (draw[part], victim_rank[part]) for each, part in zip(node.tolist(), parts, strict=True)
        }
