"""Lists tasks and machines, their measured use, and the tasks that break a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64
from firmament.core.events import TasksBound
from firmament.core.model import TaskClass
from firmament.core.results import BrokenRule, MachineState, TaskState
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.model_inputs import compute_reported_use, on_machines
from firmament.core.state.cluster import Cluster
from firmament.core.state.task_description import describe_bound
from firmament.core.state.tasks import TaskPhase


def state_name(cluster: Cluster, task: int, now: float) -> str:
    """Return the state of a task as a word: PENDING, BACKOFF, ASSUMED or BOUND."""
    state = TaskPhase(int(cluster.tasks.state[task]))
    if state == TaskPhase.PENDING and cluster.tasks.not_before[task] > now:
        return "BACKOFF"
    return state.name


def task_states(cluster: Cluster, now: float) -> Iterator[TaskState]:
    """Yield the states of all tasks, in order of uid."""
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
    """Yield the states of all machines, in order of name."""
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


@dataclass(frozen=True, slots=True)
class BoundTask:
    """A bound task: the content of its class, and an event that reports it with class number 0."""

    content: TaskClass
    event: TasksBound


def get_bound_task(cluster: Cluster, uid: str) -> BoundTask:
    """Return the class and the event of a task, which must be known and bound."""
    task = cluster.tasks.row_of[uid]
    content = cluster.classes.rows[int(cluster.tasks.cls[task])].content
    return BoundTask(content, describe_bound(cluster, task))


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured use of machines and tasks.

    ``resources``: K names; ``machines``: M names; ``use``: float64[M, K], NaN in rows without a report; ``offered``:
    float64[M, K]; ``tasks``: by uid, float64[K], the use of each task that is on a machine and in its last report.
    """

    resources: tuple[str, ...]
    machines: tuple[str, ...]
    use: Float64
    offered: Float64
    tasks: Mapping[str, Float64]


def get_measured(cluster: Cluster) -> Measured:
    """Return the last reports of measured use; the use of single tasks is known only if some model considers load."""
    machines, tasks = cluster.machines, cluster.tasks
    rows = on_machines(cluster)
    use, reported = compute_reported_use(cluster, rows)
    return Measured(
        tuple(cluster.resources.names),
        tuple(machines.names),
        machines.usage,
        machines.capacity.astype(np.float64),
        {tasks.uid[row]: use[index] for index, row in enumerate(rows.tolist()) if reported[index]},
    )


def find_open(context: RoundContext, uids: Sequence[str], machines: Sequence[str]) -> list[Bool]:
    """Return which of the machines (names) each task may use, by all rules whose answers do not expire: bool[M] each.

    Tasks that all rules treat alike share one array.
    """
    cluster = context.cluster
    rows = np.array([cluster.machines.row_of[name] for name in machines], dtype=np.int64)
    shapes = [cluster.classes.rows[int(cluster.tasks.cls[cluster.tasks.row_of[uid]])].shape for uid in uids]
    answers = [context.static_rows.get_lasting(shape).feasible for shape in shapes]
    shared = {id(each): each[rows] for each in answers}
    return [shared[id(each)] for each in answers]


def iter_broken_rules(context: RoundContext) -> Iterator[BrokenRule]:
    """Yield each bound task whose machine the rules of its class refuse, ordered by class and then by arrival.

    A machine may refuse a bound task because labels, taints and volumes change after tasks have been placed, and
    because other schedulers place tasks by other rules. Rules that keep tasks from coming but not from staying
    (``NodeRule.binds_running``) do not count.
    """
    cluster, tasks = context.cluster, context.cluster.tasks
    bound = tasks.in_state(TaskPhase.BOUND)
    bound = bound[tasks.machine[bound] >= 0]
    for cls in np.unique(tasks.cls[bound]).tolist():
        found = cluster.classes.rows[cls]
        if cluster.classes.shapes[found.shape].invalid:
            continue  # The class is invalid on any machine, so no rule of one machine is broken.
        row = context.static_rows.get(found.shape)
        members = bound[tasks.cls[bound] == cls]
        code = row.code[tasks.machine[members]]
        for task, index in zip(members[code >= 0].tolist(), code[code >= 0].tolist(), strict=True):
            cause = row.causes[index]
            if context.static_rows.rules.binds_running(cause):
                yield BrokenRule(tasks.uid[task], cluster.where(task), cause.summary)
