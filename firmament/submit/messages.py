"""Turns a workload into protocol messages, and names its machines and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

import numpy as np

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from firmament.submit.workload import Float64, GeneratedWorkload, Int64

RESOURCES: Final = ("cpu", "memory", "pods")
BATCH_EVENTS: Final = 1000
BATCH_TASKS: Final = 2000


def machine_name(index: int) -> str:
    """Return the name of the simulated machine with this number."""
    return f"machine-{index}"


def task_uid(index: int) -> str:
    """Return the uid of the simulated task with this number."""
    return f"task-{index}"


def index_of(name: str) -> int:
    """Return the number in a simulated machine's name or task's uid; raise ``ValueError`` for other names."""
    return int(name.rpartition("-")[2])


def snapshot_events(workload: GeneratedWorkload) -> Iterator[pb.Event]:
    """Yield the events of the snapshot: machines, classes and filler tasks."""
    for index, amounts in enumerate(workload.allocatable.tolist()):
        labels = {"zone": f"zone-{index % 3}"}
        yield pb.Event(
            machine=pb.Machine(name=machine_name(index), labels=labels, allocatable=_quantities(amounts))
        )
    classes = [*workload.requests.tolist(), *workload.fill_requests.tolist()]
    for number, amounts in enumerate(classes, start=1):
        # The solver itself adds the unit of ``pods`` that each task takes.
        yield pb.Event(
            task_class=pb.TaskClass(id=number, requests=_quantities(amounts[:2]), runs_to_completion=True)
        )
    first_filler = 1 + len(workload.requests)
    for index in np.flatnonzero(workload.fill_level >= 0).tolist():
        yield pb.Event(
            bound=pb.BoundTasks(
                machine=machine_name(index),
                task_class=first_filler + int(workload.fill_level[index]),
                uids=[f"filler-{index}"],
            )
        )


def task_events(workload: GeneratedWorkload, first: int, last: int, created: float) -> list[pb.Event]:
    """Return events that submit tasks ``first`` to ``last`` (exclusive), one event per job."""
    events = []
    jobs = workload.task_job[first:last].tolist()
    for job, members in groupby(range(first, last), key=lambda index: jobs[index - first]):
        indices = list(members)
        batch = pb.TaskBatch(
            task_class=1 + int(workload.task_class[indices[0]]),
            job=f"job-{job}",
            uids=[task_uid(index) for index in indices],
            created=[created] * len(indices),
        )
        events.append(pb.Event(tasks=batch))
    return events


def job_events(workload: GeneratedWorkload, first: int, last: int) -> list[pb.Event]:
    """Return events that define the jobs whose first task is among ``first`` to ``last`` (exclusive)."""
    jobs = np.unique(workload.task_job[first:last])
    starts = np.searchsorted(workload.task_job, jobs, side="left")
    sizes = np.searchsorted(workload.task_job, jobs, side="right") - starts
    return [
        pb.Event(job=pb.Job(id=f"job-{job}", name=f"simulated/job-{job}", size=size))
        for job, start, size in zip(jobs.tolist(), starts.tolist(), sizes.tolist(), strict=True)
        if start >= first
    ]


def sample_events(machines: Iterable[int], used: Int64, usage_share: Float64, now: float) -> list[pb.Event]:
    """Return reports on the use of ``machines``, each of which uses the given share of what its tasks request."""
    return [
        pb.Event(
            machine_sample=pb.MachineSample(
                machine=machine_name(index),
                time=now,
                usage=[
                    pb.Usage(resource=resource, amount=float(amount) * share)
                    for resource, amount in zip(RESOURCES[:2], used[index, :2].tolist(), strict=True)
                ],
            )
        )
        for index, share in zip(machines, usage_share.tolist(), strict=True)
    ]


def split_events(events: Iterable[pb.Event], size: int = BATCH_EVENTS) -> Iterator[list[pb.Event]]:
    """Yield the events in lists of at most ``size``."""
    iterator = iter(events)
    while batch := list(islice(iterator, size)):
        yield batch


def _quantities(amounts: list[int]) -> list[pb.Quantity]:
    return [
        pb.Quantity(resource=resource, amount=amount)
        for resource, amount in zip(RESOURCES, amounts, strict=False)
    ]
