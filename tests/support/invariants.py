"""What holds for a cluster between events, reports and rounds, whatever has happened.

While a round is being put into effect it may not hold: tasks that look for another place are pending then, and their
room is booked.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.resources import CEILING
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase, TaskTable


def validate(cluster: Cluster) -> None:
    """Raise an ``AssertionError`` that says in one line what does not hold, if something does not."""
    _rows(cluster.tasks)
    _states(cluster.tasks)
    _places(cluster)
    _order(cluster)
    _groups(cluster)
    _booked(cluster)


def _rows(tasks: TaskTable) -> None:
    """Rows have the tasks that the index says; the others have none."""
    size = len(tasks.uid)
    for uid, row in tasks.row_of.items():
        if row >= size or tasks.uid[row] != uid:
            _require(False, f"task {uid} is not in row {row}, as the index says")
    used = int(np.count_nonzero(tasks.state[:size] != int(TaskPhase.UNUSED)))
    _require(used == len(tasks.row_of), f"{used} rows have a task, and {len(tasks.row_of)} tasks a row")
    _require(not tasks.state[size:].any(), "a row beyond the last has a task")
    lengths = {len(texts) for texts in (tasks.uid, tasks.name, tasks.job, tasks.message, tasks.orphan_of)}
    _require(lengths == {size}, f"texts of tasks differ in number: {sorted(lengths)}")


def _states(tasks: TaskTable) -> None:
    """What is noted about a task goes with its state."""
    state = tasks.state[: len(tasks.uid)]
    known, pending, bound = state != TaskPhase.UNUSED, state == TaskPhase.PENDING, state == TaskPhase.BOUND
    messages = np.array([text != "" for text in tasks.message], dtype=np.bool_)
    for name, flag, forbidden in (
        ("unschedulable", tasks.unschedulable, known & ~pending),
        ("refused for good", tasks.refused, known & ~pending),
        ("told why it waits", messages, known & ~pending),
        ("owed room", tasks.owed, bound),
        ("leaving", tasks.leaving, known & ~bound),
        ("displacing others", tasks.displacing, pending),
    ):
        _nobody(tasks, flag[: len(state)] & forbidden, f"is {name}")
    _nobody(
        tasks,
        (tasks.refused & ~tasks.unschedulable)[: len(state)] & known,
        "is refused for good, and not unschedulable",
    )


def _places(cluster: Cluster) -> None:
    """Who is assumed or bound has a machine, or is kept aside for one that is not known; nobody else has."""
    tasks = cluster.tasks
    size = len(tasks.uid)
    machine, state = tasks.machine[:size], tasks.state[:size]
    aside = np.array([name != "" for name in tasks.orphan_of], dtype=np.bool_)
    placed = (state == TaskPhase.ASSUMED) | (state == TaskPhase.BOUND)
    _nobody(tasks, ~placed & (machine >= 0), "is on a machine")
    _nobody(tasks, ~placed & aside, "is kept aside for a machine")
    _nobody(tasks, placed & (machine < 0) & ~aside, "has no machine")
    _nobody(tasks, (machine >= 0) & aside, "is on a machine and kept aside for one")
    _nobody(tasks, machine >= len(cluster.machines), "is on a machine that is not there")
    found: defaultdict[str, set[int]] = defaultdict(set)
    for row in np.flatnonzero(aside).tolist():
        found[tasks.orphan_of[row]].add(row)
    kept = {machine: rows for machine, rows in cluster._orphans.items() if rows}
    _require(found == kept, f"kept aside are {kept}, and should be {dict(found)}")
    present = found.keys() & cluster.machines.row_of.keys()
    _require(not present, f"tasks are kept aside for machines that are there: {sorted(present)}")
    _nobody(tasks, placed & (tasks.cls[:size] >= len(cluster.classes.rows)), "is of no class")


def _order(cluster: Cluster) -> None:
    """Tasks came one after the other, and so did those that are on machines come to them."""
    tasks = cluster.tasks
    rows = np.array([*tasks.row_of.values()], dtype=np.int64)
    _require(
        len(set(tasks.sequence[rows].tolist())) == len(rows),
        "two tasks are in one place of the order of arrival",
    )
    came = tasks.arrival_number[rows[tasks.state[rows] != int(TaskPhase.PENDING)]].tolist()
    _require(len(set(came)) == len(came), "two tasks came to machines in one place of the order")
    _require(
        min(came, default=1) > 0
        and max(came, default=cluster.last_arrival_number) <= cluster.last_arrival_number,
        "a task came to its machine later than the last",
    )


def _groups(cluster: Cluster) -> None:
    """Jobs and groups have the tasks that name them."""
    tasks = cluster.tasks
    members: defaultdict[str, list[int]] = defaultdict(list)
    rows = sorted(tasks.row_of.values())
    for row in rows:
        if tasks.job[row]:
            members[tasks.job[row]].append(row)
    for job in members.keys() | cluster.jobs._members.keys():
        listed, found = cluster.jobs.members(job), members.get(job, [])
        if listed != found:
            _require(False, f"job {job} has the tasks {found} (rows), and lists {listed}")
    joined = Counter(tasks.spread[rows].tolist())
    for number in range(1, max(len(cluster.spread_groups), max(joined, default=0) + 1)):
        counted = cluster.spread_groups.counts[number] if number < len(cluster.spread_groups) else 0
        if counted != joined[number]:
            _require(False, f"group {number} has {joined[number]} tasks, and counts {counted}")


def _booked(cluster: Cluster) -> None:
    """Machines count the tasks that are on them, and what these request."""
    tasks, machines = cluster.tasks, cluster.machines
    rows = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    where = tasks.machine[rows]
    shapes = [cluster.classes.rows[cls].shape for cls in tasks.cls[rows].tolist()]
    running = np.bincount(where, minlength=len(machines))
    requested, unstated = cluster.requests.rows(shapes)
    for name, counted, found in (
        ("tasks run", machines.running[:, None], running[:, None]),
        ("is requested", machines.used, _sums(machines.used, where, requested)),
        ("is assumed", machines.unstated, _sums(machines.unstated, where, unstated)),
    ):
        if np.array_equal(counted, found):
            continue
        for row, column in np.argwhere(counted != found).tolist():
            told = (
                f"column {column}: {int(found[row, column])} {name}, {int(counted[row, column])} is counted"
            )
            _require(False, f"machine {machines.specs[row].name}, {told}")


def _sums(shape_of: Int64, where: Int64, amounts: Int64) -> Int64:
    """Sums of ``amounts`` by row, as large as ``shape_of``; exact, but no larger than sums are shown."""
    largest = max(int(amounts.max(initial=0)), -int(amounts.min(initial=0)))
    exact = np.int64 if largest * len(where) < np.iinfo(np.int64).max else object
    sums = np.zeros(shape_of.shape, dtype=exact)
    np.add.at(sums, where, amounts.astype(exact))
    return np.minimum(sums, CEILING).astype(np.int64)


def _nobody(tasks: TaskTable, wrong: Bool, what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        _require(False, f"task {tasks.uid[row]}, {TaskPhase(int(tasks.state[row])).name}, {what}")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
