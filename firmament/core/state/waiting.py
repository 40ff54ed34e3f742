"""Changes the state of waiting tasks: unschedulable, refused for good, passed over, and their last messages.

Call the functions as ``waiting.mark_unschedulable(...)`` and so on. No function of this module changes a task's
state; all tasks given must be pending, unless the function says that it ignores others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def mark_unschedulable(cluster: Cluster, rows: Int64) -> None:
    """Exclude the pending tasks of ``rows`` (int64[N]) from rounds until something changes that could help them.

    Tasks in ``rows`` found no machine although victims may have left for them, so no eviction is owed to them any
    more.
    """
    pending = rows[cluster.tasks.state[rows] == TaskPhase.PENDING]
    cluster.tasks.unschedulable[pending] = True
    cluster.tasks.owed[pending] = False


def hold_back(cluster: Cluster, rows: Int64 | Sequence[int]) -> None:
    """Exclude pending tasks from rounds.

    The tasks have not been tried, because their gang lacks members or has more than it needs.
    """
    cluster.tasks.unschedulable[rows] = True


def set_aside(cluster: Cluster, task: int, why: str) -> None:
    """Take a pending task out of rounds as if it was refused for good, with the reason ``why``."""
    cluster.tasks.unschedulable[task] = cluster.tasks.refused[task] = True
    cluster.tasks.message[task] = why


def note_put_off(cluster: Cluster, rows: Int64, number: int) -> None:
    """Record that tasks (int64[N] rows) wait for a round of their own since round ``number``; 0: they wait no more."""
    cluster.tasks.put_off[rows] = number


def activate(cluster: Cluster, rows: Int64) -> None:
    """Let tasks (int64[N] rows) take part in rounds again; the tasks must be pending and not refused for good."""
    cluster.tasks.unschedulable[rows] = False


def activate_members(cluster: Cluster, job: str) -> None:
    """Requeue the waiting members of a job.

    The job may have enough members now, or may no longer be a gang.
    """
    if not job:
        return
    members = np.array(cluster.jobs.members(job), dtype=np.int64)
    cluster.tasks.unschedulable[members[~cluster.tasks.refused[members]]] = False


def readmit(cluster: Cluster, rows: Int64) -> None:
    """Let pending tasks (int64[N] rows) take part in rounds again, also those that were refused for good."""
    cluster.tasks.unschedulable[rows] = cluster.tasks.refused[rows] = False


def reconsider(cluster: Cluster, task: int) -> None:
    """Let a pending task be tried again because it has changed; an open round's results do not apply to it."""
    cluster.tasks.unschedulable[task] = cluster.tasks.refused[task] = False
    cluster.tasks.revised[task] = True


def set_message(cluster: Cluster, rows: Iterable[int], message: str) -> None:
    """Set the message that says why tasks (rows) wait."""
    for task in rows:
        cluster.tasks.message[task] = message


def pass_over(cluster: Cluster, rows: Int64, *, anew: Bool, now: float) -> None:
    """Count one more round that placed other tasks, but not these unschedulable ones (int64[N] rows).

    ``anew``: bool[N], whether the count begins with this round.
    """
    tasks = cluster.tasks
    tasks.passed_over[rows] = np.where(anew, 1, tasks.passed_over[rows] + 1)
    tasks.passed_at[rows] = now


def count_anew(cluster: Cluster, tasks: int | Int64) -> None:
    """Reset the number of rounds that placed other tasks, but not these pending ones (a row, or int64[N] rows)."""
    cluster.tasks.passed_over[tasks] = 0
