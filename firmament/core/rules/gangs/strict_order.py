"""Finds the gangs that have no place in the order of a StrictFIFO queue: they hold up nobody, and pass whom they like.

Kueue has no gangs without a place in the order, as a Workload of Kueue is complete, and in one LocalQueue.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rules.gangs.members import count_missing_members, find_able, find_staying, lacks_members
from firmament.core.state.cluster import Cluster


def find_exempt_tasks(cluster: Cluster, rows: Int64, queue: Int64, now: float) -> Bool:
    """Return which of the tasks ``rows`` are in gangs without a place in the order of one queue: bool[N].

    Three kinds of gangs have no place in the order: gangs that lack members; further members of gangs that have
    enough, as the queue has admitted these already; and gangs that are not wholly in one strict queue. ``queue``:
    int64[N], the number of each task's strict queue, -1 for none; all of a gang's tasks that wait must be in
    ``rows``. ``now``: seconds since the epoch.
    """
    names, gang = _number_gangs(cluster, rows) if cluster.jobs.gangs else ([], rows)
    if not names:
        return np.zeros(len(rows), dtype=np.bool_)
    least, most = np.full(len(names), np.iinfo(np.int64).max), np.full(len(names), -1)
    inside = gang >= 0
    np.minimum.at(least, gang[inside], queue[inside])
    np.maximum.at(most, gang[inside], queue[inside])
    exempt = (least != most) | ((most >= 0) & _find_unready(cluster, names, now))
    return np.append(exempt, False)[gang]


def _number_gangs(cluster: Cluster, rows: Int64) -> tuple[list[str], Int64]:
    """Return the jobs of the gangs that tasks are in, and the number of each task's gang in them, -1 for none."""
    gangs, job_of, numbers = cluster.jobs.gangs, cluster.tasks.job, dict[str, int]()
    jobs = [job_of[row] for row in rows.tolist()]
    gang = [numbers.setdefault(job, len(numbers)) if job in gangs else -1 for job in jobs]
    return list(numbers), np.array(gang, dtype=np.int64)


def _find_unready(cluster: Cluster, names: list[str], now: float) -> Bool:
    """Return which gangs have the members they need on machines, or fewer that can be tried than they need."""
    tasks = cluster.tasks
    members = [cluster.jobs.members(name) for name in names]
    rows = np.fromiter(chain.from_iterable(members), dtype=np.int64)
    gang = np.repeat(np.arange(len(names)), [len(each) for each in members])
    stays, able = find_staying(tasks, rows), find_able(tasks, rows, now)
    jobs = [cluster.jobs.gang(name) for name in names]
    need = np.array([job.min_members if job else 0 for job in jobs])
    need -= np.bincount(gang[stays], minlength=len(names))
    found = (need <= 0) | (need > np.bincount(gang[able], minlength=len(names)))
    for number, job in enumerate(jobs):
        if job is not None and job.groups:
            found[number] = count_missing_members(cluster, job) <= 0 or lacks_members(cluster, job, now)
    return found
