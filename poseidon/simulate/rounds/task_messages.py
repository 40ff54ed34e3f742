"""Describes tasks of a simulation to the solver, as a bridge would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.tasks import TaskColumns
from poseidon.simulate.workloads.columns import ALONE, Int64
from protos.firmament.v1 import scheduler_pb2 as pb


class TaskMessages:
    """Makes the events that describe tasks to the solver; a class is defined before its first task."""

    def __init__(
        self,
        kinds: TaskKinds,
        tasks: TaskColumns,
        uids: Mapping[int, str],
        jobs: Mapping[int, str],
        begin: float,
    ) -> None:
        """Set the tasks to describe.

        ``uids`` and ``jobs`` are for tasks with names and jobs of their own; ``begin`` is in seconds since the epoch.
        """
        self.kinds = kinds
        self._tasks, self._uids, self._jobs, self._begin = tasks, uids, jobs, begin
        self._number_of = {uid: task for task, uid in uids.items()}
        self._defined: set[int] = set()

    def make_submissions(self, tasks: Int64) -> list[pb.Event]:
        """Return the events that submit tasks in order; neighbours of one kind and gang share an event."""
        events: list[pb.Event] = []
        groups: dict[tuple[int, int, str], list[int]] = {}
        work = self._tasks.work
        sizes = Counter(work.gang[tasks].tolist())
        for task in tasks.tolist():
            key = int(work.template[task]), int(work.gang[task]), self._jobs.get(task, "")
            groups.setdefault(key, []).append(task)
        for (kind, gang, own_job), members in groups.items():
            message = self.kinds.classes[kind]
            events += self._define(message)
            job = own_job
            if gang != ALONE:
                job = f"gang/{gang}"
                events.append(pb.Event(job=self._describe_gang(job, kind, sizes[gang])))
            events.append(
                pb.Event(
                    tasks=pb.TaskBatch(
                        task_class=message.id,
                        job=job,
                        priority=self.kinds.priorities[kind],
                        uids=[self.uid(task) for task in members],
                        created=[self._begin + float(work.arrival[task]) for task in members],
                        spread_group=self.kinds.spread[kind],
                    )
                )
            )
        return events

    def submit_bound(self, task: int, machine: str) -> list[pb.Event]:
        """Return the events that report a task that already runs on a machine."""
        kind = int(self._tasks.work.template[task])
        message = self.kinds.classes[kind]
        bound = pb.BoundTasks(
            machine=machine, task_class=message.id, job=self._jobs.get(task, ""), uids=[self.uid(task)],
            priority=self.kinds.priorities[kind], spread_group=self.kinds.spread[kind],
        )  # fmt: skip
        return [*self._define(message), pb.Event(bound=bound)]

    def withdraw_tasks(self, tasks: Iterable[int]) -> list[pb.Event]:
        """Return the events that remove tasks from the solver."""
        return [pb.Event(task_removed=self.uid(task)) for task in tasks]

    def dissolve_gangs(self, gangs: Iterable[int]) -> list[pb.Event]:
        """Return the events that remove gangs from the solver; the number ``ALONE`` is skipped."""
        return [pb.Event(job_removed=f"gang/{gang}") for gang in dict.fromkeys(gangs) if gang != ALONE]

    def uid(self, task: int) -> str:
        """Return the uid of a task."""
        return self._uids.get(task) or f"t{task}"

    def find_number(self, uid: str) -> int:
        """Return the number of the task with a given uid."""
        known = self._number_of.get(uid)
        return int(uid[1:]) if known is None else known

    def _define(self, message: pb.TaskClass) -> list[pb.Event]:
        if message.id in self._defined:
            return []
        self._defined.add(message.id)
        return [pb.Event(task_class=message)]

    def _describe_gang(self, job: str, kind: int, size: int) -> pb.Job:
        found = pb.Job(id=job, name=job, size=size)
        group = self.kinds.groups[kind]
        if group is None:
            found.min_members = size
        else:
            found.groups.append(group)
            found.groups[0].least = size
        return found
