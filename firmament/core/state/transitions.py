"""The transitions of tasks: each change of a task's state, with all its consequences, is one of these functions.

``TaskTable`` explains the columns; `MOVES` says which states each function starts from and leads to. Call the
functions as ``transitions.assume(...)`` and so on. Other modules make the other changes. ``waiting`` makes those of a
task while it waits; ``task_description``, those of what a driver says that the task *is* (class, job, priority, ...);
and ``Cluster``, those of its machine and of the order of arrivals.

Two things are updated besides the columns. A gang whose member changes its state is *touched*, so that the gang is
checked again; all functions in this module that change a state do so. An increase of ``cluster.version`` says that
decisions of an open round must be checked again. Functions that do not carry out decisions of a round increase
``cluster.version`` where their docstrings say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.back_off import compute_back_off
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase

_ANY = frozenset({TaskPhase.PENDING, TaskPhase.ASSUMED, TaskPhase.BOUND})
_WAITING, _ASSUMED, _BOUND = (
    frozenset({each}) for each in (TaskPhase.PENDING, TaskPhase.ASSUMED, TaskPhase.BOUND)
)

MOVES: Mapping[str, tuple[frozenset[TaskPhase], TaskPhase | None]] = MappingProxyType(
    {
        "assume": (_WAITING, TaskPhase.ASSUMED),
        "wait_for_room": (_ASSUMED, None),
        "owe": (_ASSUMED, None),
        "confirm": (_ASSUMED, TaskPhase.BOUND),
        "find_bound": (_ASSUMED | _BOUND, TaskPhase.BOUND),
        "arrive_bound": (_ANY, TaskPhase.BOUND),
        "arrive_bound_all": (_WAITING, TaskPhase.BOUND),
        "await_bindings": (_BOUND, TaskPhase.ASSUMED),
        "back_off": (_ASSUMED, None),
        "release": (_ASSUMED, TaskPhase.PENDING),
        "give_up_place": (_ASSUMED, TaskPhase.PENDING),
        "refuse": (_WAITING, None),
        "defer": (_WAITING, None),
        "forget": (_ANY, TaskPhase.UNUSED),
        "lift": (_ASSUMED, TaskPhase.PENDING),
        "put_back": (_WAITING, TaskPhase.ASSUMED),
        "lift_running": (_BOUND, TaskPhase.PENDING),
        "set_back": (_WAITING, TaskPhase.BOUND),
        "ask_to_leave": (_BOUND, None),
        "let_stay": (_BOUND, None),
    }
)
"""By function: the states that a task may be in before, and its state afterwards (None: the state does not change)."""


# --- coming to a machine ----------------------------------------------------------------------------------------------


def assume(cluster: Cluster, rows: Int64, machines: Int64) -> None:
    """Put pending tasks (int64[N] rows) on machines (int64[N] rows) until their bindings are reported.

    The tasks arrive on their machines in the given order, and use capacity there; ``date_assumptions`` sets the time.
    The tasks are no longer unschedulable, and their messages are cleared. The tasks' gangs are touched, that is,
    checked again.
    """
    tasks = cluster.tasks
    cluster.number_arrivals(rows)
    tasks.set_state(rows, TaskPhase.ASSUMED)
    tasks.unschedulable[rows] = False
    tasks.passed_over[rows] = 0
    cluster.undated.append(rows)
    for task in rows.tolist():
        tasks.message[task] = ""
    if cluster.jobs.gangs:
        for task in rows.tolist():
            cluster.jobs.touch(tasks.job[task])
    cluster.occupy_all(rows, machines)


def date_assumptions(cluster: Cluster, now: float) -> None:
    """Record that the tasks assumed since the last call got their machines ``now``."""
    for rows in cluster.undated:
        cluster.tasks.assigned[rows] = now
        cluster.tasks.dated[rows] = True
    cluster.undated.clear()


def wait_for_room(cluster: Cluster, rows: Int64, *, ordered: Bool) -> None:
    """Record that assumed tasks (int64[N] rows) wait for victims to leave, and arrive only once they are bound.

    ``ordered``: bool[N], whether the order of arrival matters on the tasks' machines.
    """
    cluster.tasks.displacing[rows] = ordered


def owe(cluster: Cluster, task: int) -> None:
    """Record that other tasks were evicted for an assumed task."""
    cluster.tasks.owed[task] = True
    cluster.tasks.note_owed()


def confirm(cluster: Cluster, task: int, now: float) -> None:
    """Record that an assumed task is reported as bound ``now``.

    The function also forgets the task's failures, and the tasks for which others were evicted on its behalf.

    The task's gang is touched, that is, checked again.
    """
    cluster.jobs.touch(cluster.tasks.job[task])
    find_bound(cluster, task, now)
    cluster.tasks.failures[task] = 0


def find_bound(cluster: Cluster, task: int, now: float) -> None:
    """Record that a task that is assumed, or bound, is seen bound where it is.

    If the task had to wait for victims, it counts as arriving only now. Code that changes what the task is
    (`task_description`) marks the task's gang for a check.
    """
    tasks = cluster.tasks
    if tasks.displacing[task] and tasks.state[task] == TaskPhase.ASSUMED:
        cluster.number_arrival(task)
        tasks.assigned[task], tasks.dated[task] = now, True
    tasks.set_state(task, TaskPhase.BOUND)
    tasks.owed[task] = False


def arrive_bound(cluster: Cluster, task: int, cls: int, machine: str, now: float) -> None:
    """Record that a known task is seen bound on an unexpected machine, or with another class (row) there.

    What was recorded about the task on its former machine is cleared; victims on its new machine still have to leave.
    The task's gang is touched, that is, checked again.
    """
    tasks = cluster.tasks
    asked_to_leave = bool(tasks.leaving[task]) and cluster.where(task) == machine
    if cluster.where(task) != machine:
        cluster.devices.withdraw(tasks.uid[task])
    cluster.vacate(task)
    tasks.cls[task] = cls
    tasks.leaving[task] = asked_to_leave or cluster.classes.rows[cls].content.terminating
    tasks.owed[task] = tasks.dated[task] = tasks.unschedulable[task] = tasks.refused[task] = False
    tasks.message[task] = ""
    tasks.assigned[task] = now
    tasks.set_state(task, TaskPhase.BOUND)
    cluster.number_arrival(task)
    cluster.put(task, machine)


def arrive_bound_all(
    cluster: Cluster, rows: Int64, machines: Sequence[str], sizes: Sequence[int], now: float
) -> None:
    """Record that new tasks (int64[N] rows) are bound: the first ``sizes[0]`` to the first of ``machines``, etc."""
    tasks = cluster.tasks
    tasks.set_state(rows, TaskPhase.BOUND)
    tasks.assigned[rows] = now
    classes = cluster.classes.rows
    terminating = [cls for cls in np.unique(tasks.cls[rows]).tolist() if classes[cls].content.terminating]
    tasks.leaving[rows] = np.isin(tasks.cls[rows], terminating)
    cluster.number_arrivals(rows)
    cluster.put_all(rows, machines, np.array(sizes, dtype=np.int64))


def await_bindings(cluster: Cluster, rows: Int64) -> None:
    """Record that tasks (int64[N] rows) that have just come to their machines are not bound yet.

    The tasks' gangs are touched, that is, checked again.
    """
    cluster.tasks.set_state(rows, TaskPhase.ASSUMED)
    for task in rows.tolist() if cluster.jobs.gangs else ():
        cluster.jobs.touch(cluster.tasks.job[task])


# --- tasks that lose their machine ----------------------------------------------------------------


def back_off(cluster: Cluster, task: int, now: float, *, first: float, last: float) -> None:
    """Count one more failed binding of an assumed task.

    The task waits ``first`` seconds, and twice as long after each further failure, at most ``last`` seconds.
    """
    tasks = cluster.tasks
    tasks.failures[task] += 1
    tasks.not_before[task] = now + compute_back_off(int(tasks.failures[task]), first=first, last=last)


def release(cluster: Cluster, task: int, *, promised: bool = False) -> None:
    """Let an assumed task wait again.

    ``promised``: the capacity that victims free for the task stays promised to the task.

    The machine is marked as changed if it is known, and the gang is touched. The caller increases the version if that
    is needed.
    """
    if promised and cluster.tasks.machine[task] >= 0:
        cluster.promises.machine_of[cluster.tasks.uid[task]] = cluster.where(task)
    cluster.devices.withdraw(cluster.tasks.uid[task])
    cluster.vacate(task)
    cluster.tasks.set_state(task, TaskPhase.PENDING)


def give_up_place(cluster: Cluster, task: int) -> None:
    """Let an assumed task wait again and take part in the next round.

    Decisions of an open round must be checked again.
    """
    release(cluster, task)
    cluster.tasks.unschedulable[task] = False
    cluster.version += 1


def refuse(cluster: Cluster, task: int, *, retry: bool) -> None:
    """Record that the binding of a task that has just lost its machine was refused.

    Without ``retry``, the task is refused for good: it is unschedulable until it changes, and no evictions are owed
    to it.
    """
    tasks = cluster.tasks
    tasks.unschedulable[task] = tasks.refused[task] = not retry
    tasks.owed[task] &= retry
    cluster.version += 1


def defer(cluster: Cluster, task: int, until: float) -> None:
    """Let a pending task wait until a given time and then take part in rounds, unless it was refused for good."""
    cluster.tasks.not_before[task] = until
    cluster.tasks.unschedulable[task] = bool(cluster.tasks.refused[task])


def forget(cluster: Cluster, task: int) -> None:
    """Remove a task that has ended from its machine, job and gang, and free its row."""
    tasks = cluster.tasks
    if cluster.devices.stayed is not None:
        cluster.devices.leave_behind(tasks.uid[task], cluster.where(task))
    cluster.devices.withdraw(tasks.uid[task])
    cluster.vacate(task)
    cluster.jobs.discharge(task, tasks.job[task])
    cluster.spread_groups.leave(int(tasks.spread[task]))
    tasks.spread[task] = 0
    tasks.remove(task)
    cluster.task_samples.reset(task)


# --- tasks that may get another machine -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lifted:
    """The state to which a lifted task (row) returns if it gets no other machine.

    The state consists of machine (row), arrival number and times.
    """

    task: int
    machine: int
    arrival_number: int
    displacing: bool
    assigned: float


def lift(cluster: Cluster, task: int) -> Lifted:
    """Let an assumed task on a known machine be placed as if it had no machine; its capacity there stays booked.

    Only rounds that take effect call this function. Afterwards, ``put_back`` returns the task to its machine, or
    ``leave_former`` releases the capacity.
    """
    tasks = cluster.tasks
    lifted = Lifted(
        task,
        int(tasks.machine[task]),
        int(tasks.arrival_number[task]),
        bool(tasks.displacing[task]),
        float(tasks.assigned[task]),
    )
    tasks.set_state(task, TaskPhase.PENDING)
    tasks.machine[task] = -1
    tasks.displacing[task] = False
    return lifted


def put_back(cluster: Cluster, lifted: Lifted) -> None:
    """Let a lifted task that is still pending be assumed where it was, with its former times and arrival number."""
    tasks, task = cluster.tasks, lifted.task
    tasks.set_state(task, TaskPhase.ASSUMED)
    tasks.machine[task] = lifted.machine
    tasks.arrival_number[task], tasks.displacing[task] = lifted.arrival_number, lifted.displacing
    tasks.assigned[task], tasks.unschedulable[task] = lifted.assigned, False


def leave_former(cluster: Cluster, lifted: Lifted) -> None:
    """Release the former capacity of a lifted task that has got another machine, and mark that machine as changed."""
    cls = int(cluster.tasks.cls[lifted.task])
    cluster.book(lifted.machine, cls, -1)
    cluster.dirty.touched.add(cls)
    cluster.mark(cluster.machines.specs[lifted.machine].name)


def lift_running(cluster: Cluster, rows: Int64) -> Int64:
    """Let bound tasks (int64[N] rows) on known machines count as waiting tasks that use no capacity.

    The function returns the machines of these tasks: int64[N], rows. If devices may move, the lifted tasks use no
    devices either.

    The caller answers one question about the lifted tasks, and then calls ``set_back`` before it does anything else.
    """
    if cluster.devices.stayed is not None:
        for row in rows.tolist():
            cluster.devices.leave_behind(cluster.tasks.uid[row], cluster.where(row))
    cluster.tasks.set_state(rows, TaskPhase.PENDING)
    return cluster.leave_all(rows)


def set_back(cluster: Cluster, rows: Int64, machines: Int64) -> None:
    """Undo ``lift_running``: put tasks (int64[N] rows) back on their machines (int64[N] rows)."""
    cluster.tasks.set_state(rows, TaskPhase.BOUND)
    cluster.occupy_all(rows, machines)
    if cluster.devices.stayed:
        for row in rows.tolist():
            cluster.devices.come_back(cluster.tasks.uid[row], cluster.where(row))


# --- evictions of bound tasks -----------------------------------------------------------------------------------------


def ask_to_leave(cluster: Cluster, task: int) -> None:
    """Record that a bound task is evicted; it stays booked until it has left.

    The task's gang is touched, that is, checked again.
    """
    cluster.tasks.leaving[task] = True
    cluster.jobs.touch(cluster.tasks.job[task])


def let_stay(cluster: Cluster, task: int) -> None:
    """Record that a bound task stays after all, unless it is terminating anyway.

    The task's gang is touched. Decisions of an open round, which may rely on the task's capacity, must be checked
    again.
    """
    tasks = cluster.tasks
    tasks.leaving[task] = cluster.classes.rows[int(tasks.cls[task])].content.terminating
    cluster.jobs.touch(tasks.job[task])
    cluster.version += 1
