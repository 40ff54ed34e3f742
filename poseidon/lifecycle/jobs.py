"""Keeps the jobs of known tasks, and which of these jobs the solver knows."""

from __future__ import annotations

from dataclasses import dataclass

from protos.firmament.v1 import scheduler_pb2 as pb


@dataclass(slots=True)
class _Entry:
    job: pb.Job
    members: int


class Jobs:
    """Jobs by id, kept as long as they have pods. ``changed`` and ``ended`` are the changes to send to the solver."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._sent: set[str] = set()
        self.ended: dict[str, None] = {}
        self.changed: dict[str, None] = {}
        self._been_whole: set[str] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def join(self, job: pb.Job) -> None:
        """Count one more member of a job."""
        if not self.join_known(job.id):
            self._entries[job.id] = _Entry(job, 1)
            self.ended.pop(job.id, None)

    def join_known(self, job_id: str) -> bool:
        """Count one more member of a job that has members already.

        If the job has no members, return False and count nothing.
        """
        entry = self._entries.get(job_id)
        if entry is None:
            return False
        entry.members += 1
        return True

    def replace(self, job: pb.Job) -> None:
        """Replace the description of a job that has members.

        The solver gets the new job if it knows the job already.
        """
        entry = self._entries.get(job.id)
        if entry is None or entry.job == job:
            return
        entry.job = job
        if job.id in self._sent:
            self.changed[job.id] = None

    def leave(self, job_id: str) -> None:
        """Count one member of a job less. The job ends with its last member."""
        entry = self._entries.get(job_id)
        if entry is None:
            return
        entry.members -= 1
        if entry.members <= 0:
            del self._entries[job_id]
            self._been_whole.discard(job_id)
            if job_id in self._sent:
                self.ended[job_id] = None

    def forget_sent(self) -> None:
        """Begin a stream to a solver that has no jobs."""
        self._sent.clear()
        self.ended.clear()
        self.changed.clear()

    def define(self, job_id: str) -> pb.Job | None:
        """Return the description of a job unless the solver has it already."""
        entry = self._entries.get(job_id)
        if entry is None or job_id in self._sent:
            return None
        self._sent.add(job_id)
        return self._as_sent(job_id)

    def set_been_whole(self, job_id: str, was_whole: bool) -> None:
        """Set whether enough members of a gang were once bound at the same time, for solvers that start later.

        Without this, a solver that starts later would mistake a gang that has lost a pod for a gang that was never
        complete.
        """
        if was_whole and job_id in self._entries:
            self._been_whole.add(job_id)
        else:
            self._been_whole.discard(job_id)

    def has_been_whole(self, job_id: str) -> bool:
        """Return whether enough members of a gang are known to have been bound once."""
        return job_id in self._been_whole

    def _as_sent(self, job_id: str) -> pb.Job:
        job = self._entries[job_id].job
        if job_id not in self._been_whole:
            return job
        described = type(job)()
        described.CopyFrom(job)
        described.was_whole = True
        return described

    def take_changed(self) -> list[pb.Job]:
        """Return the jobs whose descriptions have changed, each once."""
        changed, self.changed = self.changed, {}
        return [self._as_sent(job_id) for job_id in changed if job_id in self._entries]

    def take_ended(self) -> list[str]:
        """Return the ids of jobs that the solver knows and that have ended, each once."""
        ended, self.ended = list(self.ended), {}
        self._sent.difference_update(ended)
        return ended
