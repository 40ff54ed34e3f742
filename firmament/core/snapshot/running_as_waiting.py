"""Takes a snapshot as if running tasks were waiting, which shows what each would cost on its machine and on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.queue.reservations import Reservations
from firmament.core.rules.gangs.lifecycle import AdmittedTasks
from firmament.core.rules.tree_groups.compilation import MachineTrees
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.model_inputs import compute_measured_use
from firmament.core.snapshot.snapshot import Snapshot, take_snapshot
from firmament.core.state import transitions
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase


@dataclass(frozen=True, slots=True)
class RunningSnapshot:
    """The problem of placing running tasks from scratch (``snapshot``).

    ``home``: int64[T], the machine row of each of the snapshot's tasks.
    """

    snapshot: Snapshot
    home: Int64


def snapshot_of_running(
    context: RoundContext, uids: Sequence[str], now: float, *, stay: bool = False
) -> RunningSnapshot | None:
    """Return the problem of placing tasks from scratch that run now; None if none is on a known machine.

    The tasks' reported use is subtracted from the use of their machines. All other tasks stay where they are, and so
    do members of gangs. No task is evicted, and fair shares are ignored. The cluster is restored afterwards. If
    devices may move (``Scheduler.let_devices_move``), the tasks' devices count as free.

    ``stay``: if True, the tasks also stay on their machines, so that the problem is that of placing a further task
    like each of them.
    """
    cluster, configuration = context.cluster, context.configuration
    tasks = cluster.tasks
    known = np.array([tasks.row_of[uid] for uid in uids if uid in tasks.row_of], dtype=np.int64)
    rows = known[(tasks.state[known] == TaskPhase.BOUND) & (tasks.machine[known] >= 0)]
    if gangs := cluster.jobs.gangs:
        rows = np.array([row for row in rows.tolist() if tasks.job[row] not in gangs], dtype=np.int64)
    if not len(rows):
        return None
    admitted = AdmittedTasks(rows, np.full(len(rows), -1), np.empty(0, dtype=np.int64), ())
    options = replace(configuration.options, preemption=False)
    alone = replace(
        context,
        configuration=replace(configuration, options=options, fair_share=None),
        reservations=Reservations(options),
        evictions=PendingEvictions(),
        trees=MachineTrees(),
        kept_rows=None,
    )
    home = np.full(len(tasks.machine), -1, dtype=np.int64)
    home[rows] = tasks.machine[rows]
    if stay:
        snapshot = take_snapshot(alone, admitted, now, None)
        return RunningSnapshot(snapshot, home[snapshot.tasks])
    use = compute_measured_use(cluster, rows)
    machines = transitions.lift_running(cluster, rows)
    try:
        with cluster.machines.samples.leave_out(use):
            snapshot = take_snapshot(alone, admitted, now, None)
    finally:
        transitions.set_back(cluster, rows, machines)
    return RunningSnapshot(snapshot, home[snapshot.tasks])
