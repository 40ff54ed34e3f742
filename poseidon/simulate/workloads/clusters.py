"""Reads traces of batch clusters: Google's of 2011 and 2019, Alibaba's of 2018, Philly and Helios.

A trace becomes jobs, each with arrival, run time, number of equal tasks, and requests of a task. Some traces give
amounts as shares of their largest machine: Google's traces give all amounts in this way, Alibaba's only the memory.
The reader takes amounts of this kind as shares of `LARGEST`. Jobs that never ran or have no known end are left out.
Nodes are not read.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

import numpy as np

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate, order_work, plain_template

LARGEST: Mapping[str, float] = MappingProxyType({"cpu": 64.0, "memory": 256.0 * 2**30})
"""Assumed cores and bytes of the largest machine, for traces that give amounts as shares of it."""
GPU = "nvidia.com/gpu"


class Job(NamedTuple):
    """A job of equal tasks."""

    came: float
    """Time of arrival in seconds; all jobs of a trace count from the same moment."""
    runs: float
    """Run time of the job's tasks, in seconds."""
    tasks: int
    """Number of tasks in the job."""
    ganged: bool
    """Whether the job's tasks start together."""
    asks: tuple[tuple[str, str], ...]
    """How much of each resource one task requests."""
    priority: int = 0
    """Priority of the job; higher numbers are more important."""


def gather_jobs(jobs: Iterable[Job], first: int | None) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the work of jobs, up to about ``first`` tasks, and no nodes. Pods are not started again."""
    known: dict[tuple[tuple[tuple[str, str], ...], int], int] = {}
    templates: list[WorkTemplate] = []
    kept, count = [], 0
    for job in jobs:
        key = job.asks, job.priority
        if key not in known:
            known[key] = len(known)
            made = plain_template(
                "-".join(f"{name}-{amount}" for name, amount in job.asks).lower(), dict(job.asks)
            )
            made.manifest["spec"] |= {"priority": job.priority, "restartPolicy": "Never"}
            templates.append(made)
        kept.append((job, known[key]))
        count += job.tasks
        if first is not None and count >= first:
            break
    sizes = np.array([job.tasks for job, _ in kept], dtype=np.int64)
    gangs = [place if job.ganged and job.tasks > 1 else ALONE for place, (job, _) in enumerate(kept)]
    work = order_work(
        templates,
        np.repeat(np.array([job.came for job, _ in kept], dtype=np.float64), sizes),
        np.repeat(np.array([job.runs for job, _ in kept], dtype=np.float64), sizes),
        np.repeat(np.array([template for _, template in kept], dtype=np.int64), sizes),
        np.repeat(np.array(gangs, dtype=np.int64), sizes),
    )
    return work, ()


def read_alibaba(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the tasks of ``batch_task.csv`` of Alibaba's trace of 2018 (clusterdata, cluster-trace-v2018).

    The file has no header. The columns of the file are task_name, instance_num, job_name, task_type, status,
    start_time, end_time, plan_cpu (in hundredths of a core), plan_mem (in percent of a machine). Alibaba's instances
    become tasks, which start independently of each other.
    """

    def read(file: TextIO) -> Iterator[Job]:
        for number, row in _read_rows(file, 9):
            count, start, end, cpu, memory = _read_numbers(number, row, (1, 5, 6, 7, 8))
            if row[4] == "Terminated" and 0 < start < end and count >= 1:
                asks = {"cpu": cpu / 100.0, "memory": memory / 100.0 * LARGEST["memory"]}
                yield Job(start, end - start, int(count), False, _write_amounts(asks))

    with _open_text(path) as file:
        return gather_jobs(read(file), part.first)


def read_google_2011(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the tasks of a file of ``task_events`` of Google's trace of 2011 (clusterdata-2011-2).

    The file has no header. The columns of the file are: 0 time in microseconds, 2 job, 3 task, 5 event (0 submitted,
    1 scheduled, 2 to 6 over), 8 priority, 9 and 10 requests of CPU and memory. A task that is submitted again after
    an eviction counts as a new task.
    """

    def read(file: TextIO) -> Iterator[_Event]:
        for number, row in _read_rows(file, 11):
            when, what, priority, cpu, memory = _read_numbers(number, row, (0, 5, 8, 9, 10))
            kind = ("came", "began")[int(what)] if what in (0, 1) else "ended" if 2 <= what <= 6 else ""
            yield _Event(when / 1e6, (row[2], row[3]), kind, int(priority), cpu, memory)

    with _open_text(path) as file:
        return gather_jobs(_pair_events(read(file)), part.first)


_EVENTS_2019 = MappingProxyType(
    {"SUBMIT": "came", "SCHEDULE": "began"}
    | dict.fromkeys(("EVICT", "FAIL", "FINISH", "KILL", "LOST"), "ended")
    | {"0": "came", "3": "began"}
    | dict.fromkeys("45678", "ended")
)
"""Events of Google's trace of 2019 that matter here, by name and by number."""


def read_google_2019(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the instances of an extract of ``instance_events`` of Google's trace of 2019, as BigQuery exports it.

    The file is CSV with a header: time in microseconds, type (a name or its number), collection_id, instance_index,
    priority, resource_request.cpus and resource_request.memory (or with ``_`` instead of the dot).
    """

    def read(file: TextIO) -> Iterator[_Event]:
        for number, row in _read_columns(
            file, ("time", "type", "collection_id", "instance_index", "priority", "resource_request_cpus",
                   "resource_request_memory"),
        ):  # fmt: skip
            when, priority, cpu, memory = _read_numbers(number, row, (0, 4, 5, 6))
            kind = _EVENTS_2019.get(row[1].upper(), "")
            yield _Event(when / 1e6, (row[2], row[3]), kind, int(priority), cpu, memory)

    with _open_text(path) as file:
        return gather_jobs(_pair_events(read(file)), part.first)


def read_helios(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the jobs of a ``cluster_log.csv`` of Helios (S-Lab-System-Group/HeliosData): gangs of one task per node.

    The file is CSV with a header. The columns gpu_num, cpu_num, node_num, submit_time and duration (in seconds) are
    read.
    """

    def read(file: TextIO) -> Iterator[Job]:
        for number, row in _read_columns(file, ("gpu_num", "cpu_num", "node_num", "submit_time", "duration")):
            gpus, cpus, nodes, runs = _read_numbers(number, row, (0, 1, 2, 4))
            if runs > 0 and (gpus > 0 or cpus > 0):
                count = max(1, int(nodes))
                asks = {"cpu": cpus / count, GPU: float(-(-int(gpus) // count))}
                yield Job(_read_time(number, row[3]), runs, count, True, _write_amounts(asks))

    with _open_text(path) as file:
        return gather_jobs(read(file), part.first)


def read_philly(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the jobs of ``cluster_job_log`` of Philly (msr-fiddle/philly-traces): JSON, a list of jobs.

    The fields that are read are submitted_time, and of the last attempt start_time, end_time, and in its detail the
    GPUs by server. Each server becomes a task of a gang; all tasks of the gang get as many GPUs as the server with
    the most.
    """

    def read(file: TextIO) -> Iterator[Job]:
        try:
            jobs = json.load(file)
        except ValueError as error:
            raise ValueError(f"is not JSON: {error}") from None
        if not isinstance(jobs, list):
            raise ValueError("is no list of jobs")  # noqa: TRY004  # a fault of the file
        for place, job in enumerate(jobs, start=1):
            if not isinstance(job, dict):
                raise ValueError(f"entry {place} is not a job")  # noqa: TRY004  # a fault of the file
            attempts = [each for each in job.get("attempts") or () if _has_times(each)]
            if not attempts:
                continue
            begun, ended = (_read_time(place, attempts[-1][key]) for key in ("start_time", "end_time"))
            servers = [len(each.get("gpus") or ()) for each in attempts[-1].get("detail") or ()]
            if ended > begun and max(servers, default=0) > 0:
                came = _read_time(place, job.get("submitted_time") or "")
                asks = _write_amounts({GPU: float(max(servers))})
                yield Job(came, ended - begun, len(servers), True, asks)

    with _open_text(path) as file:
        return gather_jobs(sorted(read(file), key=lambda job: job.came), part.first)


def _has_times(attempt: Mapping[str, Any]) -> bool:
    """Return whether an attempt in Philly's trace has begin and end; in some attempts they are "None"."""
    return all(attempt.get(key) not in (None, "", "None") for key in ("start_time", "end_time"))


class _Event(NamedTuple):
    """One event in the life of a task."""

    when: float
    """Time of the event in seconds."""
    task: tuple[str, str]
    """Name of the task to which the event happened."""
    kind: str
    """"came", "began", "ended", or "" for events that are ignored."""
    priority: int
    """Priority of the task."""
    cpu: float
    """Requested CPU, as a share of the largest machine."""
    memory: float
    """Requested memory, as a share of the largest machine."""


def _pair_events(events: Iterable[_Event]) -> list[Job]:
    """Return one job for each arrival, begin and end of a task, in the order of arrival."""
    came: dict[tuple[str, str], _Event] = {}
    began: dict[tuple[str, str], float] = {}
    jobs = []
    for event in sorted(events, key=lambda each: each.when):
        if event.kind == "came":
            came[event.task] = event
        elif event.kind == "began" and event.task in came:
            began[event.task] = event.when
        elif event.kind == "ended":
            first, since = came.pop(event.task, None), began.pop(event.task, None)
            if first is not None and since is not None and event.when > since:
                asks = {"cpu": first.cpu * LARGEST["cpu"], "memory": first.memory * LARGEST["memory"]}
                jobs.append(
                    Job(first.when, event.when - since, 1, False, _write_amounts(asks), first.priority)
                )
    return sorted(jobs, key=lambda job: job.came)


def _write_amounts(asks: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """Return amounts in Kubernetes' notation, without zeros; rounding leaves some hundred different shapes."""
    written = []
    for name, amount in asks.items():
        if name == "cpu":
            text = f"{max(10, round(amount * 100) * 10)}m" if amount > 0 else ""
        elif name == "memory":
            text = f"{max(1, round(amount / 2**26)) * 64}Mi" if amount > 0 else ""
        else:
            text = str(int(amount)) if amount > 0 else ""
        if text:
            written.append((name, text))
    return tuple(written)


def _read_rows(file: TextIO, least: int) -> Iterator[tuple[int, list[str]]]:
    """Yield rows of a file without a header, with line numbers.

    Raises ``ValueError`` if a row has fewer than ``least`` fields.
    """
    for number, row in enumerate(csv.reader(file), start=1):
        if row and len(row) < least:
            raise ValueError(f"line {number} has {len(row)} fields instead of {least}")
        if row:
            yield number, row


def _read_columns(file: TextIO, names: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield named columns of a file with a header, with line numbers. Raises ``ValueError`` if a column is missing."""
    rows = csv.reader(file)
    header = [name.strip().replace(".", "_") for name in next(rows, [])]
    missing = [name for name in names if name not in header]
    if missing:
        raise ValueError(f"line 1: there is no column {', '.join(missing)}")
    places = [header.index(name) for name in names]
    for number, row in enumerate(rows, start=2):
        if row and len(row) <= max(places):
            raise ValueError(f"line {number} has {len(row)} fields instead of {len(header)}")
        if row:
            yield number, [row[place] for place in places]


def _read_numbers(number: int, row: list[str], places: tuple[int, ...]) -> list[float]:
    """Return some fields of a row as numbers, 0 for empty fields. Raises ``ValueError`` if a field is no number."""
    try:
        found = [float(row[place] or 0.0) for place in places]
    except ValueError:
        raise ValueError(f"line {number} has text where numbers are expected") from None
    if not all(map(np.isfinite, found)):
        raise ValueError(f"line {number} has a number that is not finite")
    return found


def _read_time(number: int, text: str) -> float:
    """Return a time such as 2020-04-01 12:00:00 in seconds.

    Raises ``ValueError`` if the text is no time of this form.
    """
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ValueError(f"entry {number}: {text[:40]!r} is no time such as 2020-04-01 12:00:00") from None


@contextmanager
def _open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file, which may be compressed with gzip."""
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            yield file
    else:
        with path.open(encoding="utf-8", newline="") as file:
            yield file
