"""What a driver would say of a task that is bound: for questions that ask what would become of it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from firmament.core.events import TasksBound
from firmament.core.model import TaskClass
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED


@dataclass(frozen=True, slots=True)
class BoundTask:
    """The content of a bound task's class, and the event that would tell of the task: its class has the number 0."""

    content: TaskClass
    event: TasksBound


def bound_task(cluster: Cluster, uid: str) -> BoundTask:
    """Return what is known of a task (known, and bound)."""
    tasks = cluster.tasks
    task = tasks.row_of[uid]
    group = int(tasks.group_priority[task])
    return BoundTask(
        cluster.classes.rows[int(tasks.cls[task])].content,
        TasksBound(
            machine=cluster.where(task),
            task_class=0,
            uids=(uid,),
            names=(tasks.name[task],),
            priority=int(tasks.priority[task]),
            job=tasks.job[task],
            assigned=(float(tasks.assigned[task]),),
            initialized=(float(tasks.initialized[task]),),
            group_priority=None if group == UNGROUPED else group,
            spread_group=cluster.spread_groups.name(int(tasks.spread[task])),
        ),
    )
