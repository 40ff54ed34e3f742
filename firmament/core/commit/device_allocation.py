"""Gives the tasks of a round what rules with ledgers hand out besides machines, such as devices.

Devices are handed out when placements take effect, with the amounts that are left then. If too little is left for a
placement, the placement fails: its task waits again, and so do the other tasks of a gang that were placed with it.
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
    """Give assumed tasks their devices, and return which placements still hold and what they got.

    The results are bool[N] and the devices by index. ``tasks``: int64[N], rows in the order in which the tasks are
    assumed; ``kept``: bool[N], which of them are assumed. Tasks whose placement fails wait for some time from ``now``
    on, so that they do not fill one round after another.
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


def settle_preemptors(
    cluster: Cluster, tasks: Sequence[int], machines: Sequence[int], leaving: Sequence[frozenset[str]]
) -> list[tuple[ClaimAllocation, ...] | None]:
    """Return the devices that each task (row) gets on its intended machine (row), None if there are too few.

    ``leaving``: for each task, the uids of the tasks that it waits for; their devices are free before it comes. If a
    task does not come after all, ``cluster.devices.withdraw`` takes its devices back.
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
    """Return the indices of the tasks that were placed in one gang with a task of ``lost``."""
    if not cluster.jobs.gangs:
        return set()
    jobs = {cluster.tasks.job[int(tasks[index])] for index in lost}
    gangs = {job for job in jobs if cluster.jobs.gang(job) is not None}
    return {index for index in np.flatnonzero(kept).tolist() if cluster.tasks.job[int(tasks[index])] in gangs}
