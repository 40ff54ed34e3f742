"""Reads the Standard Workload Format of the Parallel Workloads Archive (Chapin et al., 1999; version 2.2).

A line is a job with 18 numbers, -1 for unknown ones; lines that begin with ``;`` are remarks. The fields that are
read are 2 time of submission, 4 run time, 5 allocated processors, 8 requested processors, and 9 requested time, after
which the job is killed. Jobs that failed or were cancelled count, because they ran before.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poseidon.pods.run_times import RUN_SECONDS
from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate, order_work
from poseidon.simulate.workloads.generator import template_of

SUBMITTED, RAN, HAD, ASKED, ASKED_TIME = 1, 3, 4, 7, 8
FIELDS = 18


class Job(NamedTuple):
    """A job that ran; times are in seconds."""

    submitted: float
    ran: float
    size: int
    """Number of processors that the job used."""
    kind: int
    """Position of the template of the job's tasks."""


def read_swf(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return each job as a gang with one task per processor, of the kind that the trace states, and no nodes.

    The pods of a job state its requested time as the longest time that they run. The pods have ``restartPolicy:
    Never`` unless the kind states another policy. Jobs that never ran are left out. Raises ``ValueError`` if a line
    is no job.
    """
    assert part.kind is not None  # The check of the document ensures that the kind is stated.
    jobs: list[Job] = []
    kinds: dict[int, int] = {}
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        text = line.split(";", 1)[0].split()
        if not text:
            continue
        try:
            fields = [float(each) for each in text]
        except ValueError:
            raise ValueError(
                f"line {number} does not consist of numbers; a job has {FIELDS} numbers"
            ) from None
        if len(fields) < FIELDS:
            raise ValueError(f"line {number} has {len(fields)} numbers; a job has {FIELDS}")
        size = int(fields[HAD] if fields[HAD] > 0 else fields[ASKED])
        if fields[RAN] > 0 and size > 0 and fields[SUBMITTED] >= 0:
            kind = kinds.setdefault(max(int(fields[ASKED_TIME]), 0), len(kinds))
            jobs.append(Job(fields[SUBMITTED], fields[RAN], size, kind))
    template = template_of(part.kind)
    template.manifest["spec"].setdefault("restartPolicy", "Never")
    return jobs_as_gangs(jobs, [_state_run_time(template, seconds) for seconds in kinds]), ()


def _state_run_time(template: WorkTemplate, seconds: int) -> WorkTemplate:
    """Return a template whose pods state that they run for at most ``seconds``.

    The template is unchanged if ``seconds`` is 0 (unknown).
    """
    if not seconds:
        return template
    metadata = dict(template.manifest.get("metadata", {}))
    metadata["annotations"] = {**metadata.get("annotations", {}), RUN_SECONDS: str(seconds)}
    return template._replace(manifest={**template.manifest, "metadata": metadata})


def jobs_as_gangs(jobs: Sequence[Job], templates: Sequence[WorkTemplate]) -> Work:
    """Return jobs as gangs of equal tasks; a job with one task is a task without a gang."""
    sizes = np.array([job.size for job in jobs], dtype=np.int64)
    numbers = np.where(sizes > 1, np.arange(len(jobs)), ALONE)
    arrival = np.repeat([job.submitted for job in jobs], sizes)
    duration = np.repeat([job.ran for job in jobs], sizes)
    template_of_task = np.repeat(np.array([job.kind for job in jobs], dtype=np.int64), sizes)
    return order_work(templates, arrival, duration, template_of_task, np.repeat(numbers, sizes))


def _read_text(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return content.decode("utf-8", errors="replace")
