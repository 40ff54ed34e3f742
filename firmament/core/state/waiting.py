"""The state of waiting tasks: unschedulable, refused for good, passed over, and their last messages.

Called as ``waiting.mark_unschedulable(...)`` and so on. No function here changes a task's state; all tasks given have
to be pending, unless it says that others are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def mark_unschedulable(cluster: Cluster, rows: Int64) -> None:
    """Put those of ``rows`` (int64[N]) that are pending aside until something changes that could help them.

    They found no place even though victims may have left for them: no eviction is owed to them any more.
    """
    pending = rows[cluster.tasks.state[rows] == TaskPhase.PENDING]
    cluster.tasks.unschedulable[pending] = True
    cluster.tasks.owed[pending] = False


def hold_back(cluster: Cluster, rows: Int64 | Sequence[int]) -> None:
    """Put pending tasks aside that have not been tried, as their gang lacks members or has enough."""
    cluster.tasks.unschedulable[rows] = True


def set_aside(cluster: Cluster, task: int, why: str) -> None:
    """Take a pending task out of rounds as if it was refused for good, and note ``why``."""
    cluster.tasks.unschedulable[task] = cluster.tasks.refused[task] = True
    cluster.tasks.message[task] = why


def note_put_off(cluster: Cluster, rows: Int64, number: int) -> None:
    """Note that tasks (int64[N] rows) wait for a round of their own since round ``number``; 0: they do no longer."""
    cluster.tasks.put_off[rows] = number


def activate(cluster: Cluster, rows: Int64) -> None:
    """Let tasks (int64[N] rows, pending and not refused for good) take part in rounds again."""
    cluster.tasks.unschedulable[rows] = False


def activate_members(cluster: Cluster, job: str) -> None:
    """Requeue the waiting members of a job: there may be enough of them now, or it may be no gang any more."""
    if not job:
        return
    members = np.array(cluster.jobs.members(job), dtype=np.int64)
    cluster.tasks.unschedulable[members[~cluster.tasks.refused[members]]] = False


def readmit(cluster: Cluster, rows: Int64) -> None:
    """Let pending tasks (int64[N] rows) take part in rounds again, also those that were refused for good."""
    cluster.tasks.unschedulable[rows] = cluster.tasks.refused[rows] = False


def reconsider(cluster: Cluster, task: int) -> None:
    """Try a pending task again, as it has changed; an open round's results do not concern it."""
    cluster.tasks.unschedulable[task] = cluster.tasks.refused[task] = False
    cluster.tasks.revised[task] = True


def tell(cluster: Cluster, rows: Iterable[int], message: str) -> None:
    """Note the messages that tell tasks why they wait."""
    for task in rows:
        cluster.tasks.message[task] = message


def pass_over(cluster: Cluster, rows: Int64, *, anew: Bool, now: float) -> None:
    """Count one more round in which others were placed and unschedulable tasks (int64[N] rows) were not.

    ``anew``, bool[N]: the count begins with it.
    """
    tasks = cluster.tasks
    tasks.passed_over[rows] = np.where(anew, 1, tasks.passed_over[rows] + 1)
    tasks.passed_at[rows] = now


def count_anew(cluster: Cluster, task: int) -> None:
    """Forget in how many rounds a pending task was passed over."""
    cluster.tasks.passed_over[task] = 0
