"""Says, in kube-scheduler's words, why evicting other tasks would not help a task that stays pending."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.diagnosis.failed_scheduling_message import format_unavailable_nodes
from firmament.core.filters.root_causes import RootCauses, make_root_causes
from firmament.core.queue.order import Importance
from firmament.core.ranks import places_in
from firmament.core.reasons import Stage
from firmament.core.rules.node_resources import find_refusals_by_resource
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
IN_VAIN = " no new claims to deallocate, preemption: "
"""Text after all other reasons of a message: kube-scheduler looks for devices to take back, then for victims."""
MOST_NAMED = 3
"""Most tasks that a message names; of all further tasks, it gives only the number."""
NEVER = f"{IN_VAIN}not eligible due to preemptionPolicy=Never."


def explain_origins(cluster: Cluster, snapshot: Snapshot, index: int) -> str:
    """Return a sentence about tasks that a class (index in the problem) must not evict now, "" if it may evict all."""
    preemption = snapshot.preemption
    by_place = None if preemption is None else preemption.origins.get(index)
    if preemption is None or not by_place:
        return ""
    rows = preemption.row[np.unique(np.concatenate(list(by_place.values())))].tolist()
    names = [cluster.tasks.name[row] for row in rows if cluster.tasks.state[row] == TaskPhase.BOUND]
    if not names:
        return ""
    listed = ", ".join(sorted(names)[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f" It may not evict {listed}{more} now: it lost its place through evictions that began with them."


def sum_evictable(cluster: Cluster, importance: Importance, rows: Int64, rank: int) -> tuple[Int64, Int64]:
    """Return what evictions for a task with this ``rank`` would free on ``rows``, int64[A, K], and how many: int64[A].

    The machines are ``rows``. What tasks use that leave anyway counts as freed, but these tasks do not count as
    victims.
    """
    tasks = cluster.tasks
    size = len(tasks.uid)
    bound = (tasks.state[:size] == TaskPhase.BOUND) & (tasks.machine[:size] >= 0)
    victim_rank = importance.rank_as_victim(tasks.priority[:size], tasks.group_priority[:size])
    going = np.flatnonzero(bound & ((victim_rank < rank) | tasks.leaving[:size]))
    place = places_in(rows, len(cluster.machines))
    place[cluster.machines.beyond_measure] = -1
    going = going[place[tasks.machine[going]] >= 0]
    given = np.zeros((len(rows), len(cluster.resources)), dtype=np.int64)
    victims = np.zeros(len(rows), dtype=np.int64)
    if len(going):
        at = place[tasks.machine[going]]
        np.add.at(given, at, cluster.demand_of(tasks.cls[going])[0])
        np.add.at(victims, at, (~tasks.leaving[going]).astype(np.int64))
    return given, victims


class PreemptionReasons:
    """Finds the sentences about preemption for the tasks of one round."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        tasks = cluster.tasks
        bound = tasks.in_state(TaskPhase.BOUND)
        self._importance = Importance.from_tasks(tasks)
        self._lowest = int(self._importance.rank_victims(tasks, bound).min()) if len(bound) else None

    def explain(self, cls: int, task: int, causes: RootCauses) -> str:
        """Return a sentence about tasks like ``task`` (row) of the class row ``cls``.

        ``causes``: why these tasks have no place.
        """
        cluster = self._cluster
        content = cluster.classes.rows[cls].content
        machines = len(cluster.machines)
        if content.invalid or not machines:
            return ""
        if content.never_preempts:
            return NEVER
        rank = int(self._importance.rank_preemptors(cluster.tasks, task))
        request = cluster.request_of(cls)
        tried = causes.curable() & (self._large_enough(request) | ~causes.find_at_stage(Stage.RESOURCES))
        rows = np.flatnonzero(tried)
        counts: dict[str, int] = {}
        if len(rows) and self._lowest is not None and rank > self._lowest:
            given, victims = sum_evictable(cluster, self._importance, rows, rank)
            beside = (task,) if cluster.restarts.by_uid else ()
            free = cluster.free(beside, least=int(cluster.tasks.priority[task]))[rows] + given
            counts = self._count_after_evictions(free, request, victims > 0, rows, causes)
        elif len(rows):
            counts[NO_VICTIMS] = len(rows)
        if len(rows) < machines:
            counts[NOT_HELPFUL] = machines - len(rows)
        return f"{IN_VAIN}{format_unavailable_nodes(machines, list(counts.items()))}"

    def _large_enough(self, request: Int64) -> Bool:
        """Return which machines have enough capacity of every resource when empty: bool[M]; volumes do not count."""
        capacity = self._cluster.machines.capacity[:, : len(request)]
        enough = np.ones(len(capacity), dtype=np.bool_)
        for each in find_refusals_by_resource(capacity, request, self._cluster.resources.names):
            if each.cause.reason.stage == Stage.RESOURCES:
                enough &= ~each.refused
        return enough

    def _count_after_evictions(
        self, free: Int64, request: Int64, some: Bool, rows: Int64, causes: RootCauses
    ) -> dict[str, int]:
        """Return the number of machines by the reason why evictions would not help.

        ``rows``: the machines; ``free``: what they have free once all possible victims have left; ``some``: bool,
        whether each machine has victims.
        """
        lacking = find_refusals_by_resource(
            free[some][:, : len(request)], request, self._cluster.resources.names
        )
        counts = dict(make_root_causes(int(some.sum()), lacking).counts())
        lacks_nothing = (
            rows[some][~np.logical_or.reduce([each.refused for each in lacking])] if lacking else rows[some]
        )
        others = causes.drop_lack()
        for code, count in zip(*np.unique(others.code[lacks_nothing], return_counts=True), strict=True):
            text = others.refusals[code].cause.summary if code >= 0 else NO_VICTIMS
            counts[text] = counts.get(text, 0) + int(count)
        if not some.all():
            counts[NO_VICTIMS] = counts.get(NO_VICTIMS, 0) + int((~some).sum())
        return counts
