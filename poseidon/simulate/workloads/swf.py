"""Reads the Standard Workload Format of the Parallel Workloads Archive (Chapin et al., 1999; version 2.2).

A line is a job of 18 numbers, -1 for unknown; lines that begin with ``;`` are remarks. Of them count: 2 the time of
submission, 4 the time that it ran, 5 the processors it had, 8 those it asked for, 10 the memory it asked for per
processor in kilobytes, 11 the status (0 and 5 of jobs that failed or were cancelled, which still ran).
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate, order_work
from poseidon.simulate.workloads.generator import template_of

SUBMITTED, RAN, HAD, ASKED = 1, 3, 4, 7
FIELDS = 18


def read_swf(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return a job as a gang of one task per processor, each as ``kind`` of the trace says; no nodes.

    Jobs that never ran are left out. Raises ``ValueError`` for a line that is no job.
    """
    assert part.kind is not None  # the document is checked
    jobs: list[tuple[float, float, int]] = []
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        text = line.split(";", 1)[0].split()
        if not text:
            continue
        try:
            fields = [float(each) for each in text]
        except ValueError:
            raise ValueError(f"line {number}: is not numbers; a job is {FIELDS} of them") from None
        if len(fields) < FIELDS:
            raise ValueError(f"line {number}: has {len(fields)} numbers; a job is {FIELDS} of them")
        size = int(fields[HAD] if fields[HAD] > 0 else fields[ASKED])
        if fields[RAN] > 0 and size > 0 and fields[SUBMITTED] >= 0:
            jobs.append((fields[SUBMITTED], fields[RAN], size))
    return jobs_as_gangs(jobs, template_of(part.kind)), ()


def jobs_as_gangs(jobs: list[tuple[float, float, int]], template: WorkTemplate) -> Work:
    """Return jobs (time, duration, tasks) as gangs of equal tasks; those of one task are in none."""
    sizes = np.array([size for _, _, size in jobs], dtype=np.int64)
    numbers = np.where(sizes > 1, np.arange(len(jobs)), ALONE)
    arrival = np.repeat([when for when, _, _ in jobs], sizes)
    duration = np.repeat([long for _, long, _ in jobs], sizes)
    template_of_task = np.zeros(len(arrival), dtype=np.int64)
    return order_work([template], arrival, duration, template_of_task, np.repeat(numbers, sizes))


def _read_text(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return content.decode("utf-8", errors="replace")
