"""Lists the state of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

from firmament.core.results import MachineState, TaskState
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State


def state_name(cluster: Cluster, task: int, now: float) -> str:
    """PENDING, BACKOFF, ASSUMED or BOUND."""
    state = State(int(cluster.tasks.state[task]))
    if state == State.PENDING and cluster.tasks.not_before[task] > now:
        return "BACKOFF"
    return state.name


def task_states(cluster: Cluster, now: float) -> Iterator[TaskState]:
    """All tasks, in order of uid."""
    tasks = cluster.tasks
    for uid in sorted(tasks.row_of):
        task = tasks.row_of[uid]
        yield TaskState(
            uid=uid,
            name=tasks.name[task],
            state=state_name(cluster, task, now),
            machine=cluster.where(task),
            priority=int(tasks.priority[task]),
            message=tasks.message[task],
        )


def machine_states(cluster: Cluster) -> Iterator[MachineState]:
    """All machines, in order of name."""
    machines = cluster.machines
    names = cluster.resources.names
    capacity, used, running = machines.capacity, machines.used, machines.running
    for name in sorted(machines.row_of):
        row = machines.row_of[name]
        offered = capacity[row].tolist()
        taken = used[row].tolist()
        relevant = [column for column in range(len(names)) if offered[column] or taken[column]]
        yield MachineState(
            name=name,
            allocatable={names[column]: offered[column] for column in relevant},
            free={names[column]: offered[column] - taken[column] for column in relevant},
            tasks=int(running[row]),
        )
