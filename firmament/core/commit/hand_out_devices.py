"""Assigns to the tasks of a round what rules with ledgers give out besides machines, such as devices.

This happens when placements take effect, with the amounts that are left then. A placement for which too little is left
fails: its task waits again, and so does the rest of a gang that was placed with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import ClaimAllocation
from firmament.core.rules.framework.limit_rule import PlacedTask
from firmament.core.rules.task_amounts import (
    find_settled,
    settle_placements,
)
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster


def settle_assumed(
    context: RoundContext, tasks: Int64, kept: Bool, now: float
) -> tuple[Bool, Mapping[int, tuple[ClaimAllocation, ...]]]:
    """Give assumed tasks their devices; return which placements hold, bool[N], and by index the devices.

    ``tasks``: int64[N], rows in the order in which they are assumed; ``kept``: bool[N], those that are assumed. Tasks
    whose placement fails back off from ``now`` on, so that they do not fill one round after another.
    """
    cluster, options = context.cluster, context.configuration.options
    classes = find_settled(cluster)
    if not classes:
        return kept, {}
    concerned = np.flatnonzero(kept & np.isin(cluster.tasks.cls[tasks], sorted(classes))).tolist()
    placed = [
        _describe(cluster, int(tasks[index]), int(cluster.tasks.machine[tasks[index]])) for index in concerned
    ]
    given = dict(zip(concerned, settle_placements(cluster, placed), strict=True))
    lost = {index for index, each in given.items() if each is None}
    if lost:
        lost |= _list_companions(cluster, tasks, kept, lost)
        kept = kept.copy()
        kept[sorted(lost)] = False
        for index in sorted(lost):
            task = int(tasks[index])
            transitions.back_off(cluster, task, now, first=options.first_backoff, last=options.last_backoff)
            transitions.release(cluster, task)
    return kept, {index: each for index, each in given.items() if each and index not in lost}


def settle_guests(
    cluster: Cluster, tasks: Sequence[int], machines: Sequence[int], leaving: Sequence[frozenset[str]]
) -> list[tuple[ClaimAllocation, ...] | None]:
    """Return the devices that each task (row) gets on its intended machine (row), None if there are too few of them.

    ``leaving``: the tasks (uids) that each task waits for, whose devices are free before it comes. A task that does not
    come after all gives back its devices with ``cluster.devices.withdraw``.
    """
    if not tasks or not find_settled(cluster):
        return [()] * len(tasks)
    placed = [_describe(cluster, *pair) for pair in zip(tasks, machines, strict=True)]
    placed = [each._replace(leaving=uids) for each, uids in zip(placed, leaving, strict=True)]
    return [settle_placements(cluster, [each])[0] for each in placed]


def _describe(cluster: Cluster, task: int, machine: int) -> PlacedTask:
    table = cluster.tasks
    return PlacedTask(table.uid[task], cluster.classes.rows[int(table.cls[task])].shape, machine)


def _list_companions(cluster: Cluster, tasks: Int64, kept: Bool, lost: set[int]) -> set[int]:
    """Return the indices of tasks that were placed in one gang with tasks in ``lost``."""
    if not cluster.jobs.gangs:
        return set()
    jobs = {cluster.tasks.job[int(tasks[index])] for index in lost}
    gangs = {job for job in jobs if cluster.jobs.gang(job) is not None}
    return {index for index in np.flatnonzero(kept).tolist() if cluster.tasks.job[int(tasks[index])] in gangs}
