"""Keeps jobs, and the tasks that belong to each."""

from __future__ import annotations

from collections.abc import Iterable, KeysView

from firmament.core.model import Job


class JobTable:
    """Jobs by ID, and the rows of the tasks of each job, whether or not the job has been defined.

    ``gangs``: IDs of jobs whose tasks must be placed together, that state the resources they need as a whole, or that
    are trees of groups. ``changed``: gangs whose definition or tasks have changed; the code that reads the set clears
    it. ``had_gangs``: whether there has ever been a gang. ``has_trees``: whether there has ever been one that
    contains groups.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._members: dict[str, set[int]] = {}
        self.gangs: set[str] = set()
        self.changed: set[str] = set()
        self.had_gangs = False
        self.has_trees = False

    @property
    def ids(self) -> KeysView[str]:
        """IDs of the jobs that are defined."""
        return self._jobs.keys()

    def define(self, job: Job) -> None:
        """Add or replace a job."""
        self._jobs[job.id] = job
        self.has_trees = self.has_trees or bool(job.groups)
        if job.is_gang or job.asks_for_room or job.groups:
            self.gangs.add(job.id)
            self.changed.add(job.id)
            self.had_gangs = True
        elif job.id in self.gangs:
            self.gangs.discard(job.id)
            self.changed.add(job.id)

    def remove(self, job_id: str) -> None:
        """Forget a job's definition; its tasks stay."""
        self._jobs.pop(job_id, None)
        if job_id in self.gangs:
            self.gangs.discard(job_id)
            self.changed.add(job_id)

    def gang(self, job_id: str) -> Job | None:
        """Return the job if it is a gang, otherwise None."""
        return self._jobs[job_id] if job_id in self.gangs else None

    def members(self, job_id: str) -> list[int]:
        """Return the rows of the tasks of a job, ascending."""
        return sorted(self._members.get(job_id, ()))

    def count_members(self, job_id: str) -> int:
        """Return the number of tasks of a job."""
        return len(self._members.get(job_id, ()))

    def enlist(self, task: int, job_id: str) -> None:
        """Record that a task (row) belongs to a job."""
        if job_id:
            self._members.setdefault(job_id, set()).add(task)
            self.touch(job_id)

    def enlist_all(self, tasks: Iterable[int], job_id: str) -> None:
        """Record that tasks (rows) belong to a job."""
        if job_id:
            self._members.setdefault(job_id, set()).update(tasks)
            self.touch(job_id)

    def discharge(self, task: int, job_id: str) -> None:
        """Record that a task (row) no longer belongs to a job."""
        members = self._members.get(job_id)
        if members is not None:
            members.discard(task)
            if not members:
                del self._members[job_id]
            self.touch(job_id)

    def touch(self, job_id: str) -> None:
        """Record that a task of the job has changed."""
        if job_id in self.gangs:
            self.changed.add(job_id)
