"""Lets tasks take turns in rounds while capacity is kept for restarting gangs or for other schedulers' tasks.

A round counts one amount as free on each machine, the same for all its tasks. A round therefore has only tasks for
which the same capacity counts as free:

* Tasks above the priority for which capacity is kept go before those at or below it. After the tasks above that
  priority, the less important ones have their turn, level by level, before the first level begins again. Tasks thus
  never wait for ever while more important tasks keep coming.
* Within a level, a job for which capacity is kept has a round alone, because the kept capacity is free for no other
  job. The next round is for all other tasks of the level, except those of other jobs with kept capacity. The next job
  with kept capacity follows: first one that has had no round of its own, then the most important one, then by name.
  No job therefore has a second turn while other jobs wait for their first.

A turn counts as used once its round begins, whether or not the round succeeds. No other state is kept, so a round
that fails delays nobody: tasks that still wait take part again.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.queue.order import count_gangs_alike, select_foremost
from firmament.core.state.cluster import Cluster


class RoundTurns:
    """The state of the turns of one cluster's tasks."""

    def __init__(self) -> None:
        # Only tasks up to this priority take part in the round; None: tasks of any priority.
        self._below: int | None = None
        # Whether a job has had a round alone, and the other tasks of this level have had none since.
        self._was_alone = False
        self._served: set[str] = set()  # Jobs that have had rounds alone and still wait.

    def choose_turn(self, cluster: Cluster, waiting: Int64) -> Int64:
        """Return those of the ``waiting`` tasks (rows) that take part in the round that begins.

        The method is called only while capacity is kept.
        """
        if not len(waiting):
            return waiting
        level, limit = self._find_level(cluster, waiting)
        chosen = level
        jobs = cluster.restarts.jobs & {cluster.tasks.job[row] for row in waiting.tolist()}
        self._served &= jobs
        if jobs:
            chosen = self._choose_of_level(cluster, level, jobs)
        if not self._was_alone:
            self._below = limit
        return chosen

    def _find_level(self, cluster: Cluster, waiting: Int64) -> tuple[Int64, int | None]:
        """Return the tasks of the level whose turn it is, and the priority below it; None for the last level."""
        if self._below is not None:
            below = waiting[count_gangs_alike(cluster, waiting) <= self._below]
            if len(below):
                return select_foremost(cluster, below)
            self._below, self._was_alone = None, False
        return select_foremost(cluster, waiting)

    def _choose_of_level(self, cluster: Cluster, level: Int64, jobs: set[str]) -> Int64:
        """Return the tasks (rows) of one of ``jobs``, which have kept capacity, or all other tasks of the level."""
        tasks = cluster.tasks
        job_of = [tasks.job[row] for row in level.tolist()]
        has_room = np.array([job in jobs for job in job_of], dtype=np.bool_)
        if not has_room.any() or (self._was_alone and not has_room.all()):
            self._was_alone = False
            return level[~has_room]
        highest = dict[str, int]()
        for row, job in zip(level.tolist(), job_of, strict=True):
            if job in jobs:
                highest[job] = max(int(tasks.priority[row]), highest.get(job, int(tasks.priority[row])))
        job = min(highest, key=lambda each: (each in self._served, -highest[each], each))
        if job in self._served:
            self._served -= highest.keys()
        self._served.add(job)
        self._was_alone = not has_room.all()
        return level[np.array([each == job for each in job_of], dtype=np.bool_)]
