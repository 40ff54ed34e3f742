"""Training jobs of a cluster with GPUs, drawn after the statistics of Helios and written in the form of its log.

Source: Hu et al., "Characterization and prediction of large-scale deep learning workloads in GPU datacenters", SC '21,
and ``helios_cluster_summary.csv`` of S-Lab-System-Group/HeliosArtifact. Of 1,580,464 jobs with GPUs the median ran 206
seconds and the mean 6,652; the median has one GPU and the mean 3.7; all of them took 49,300 GPU seconds each, twice as
many as if large jobs ran no longer than small ones. Logarithms of run times are normally distributed here, and numbers
of GPUs are powers of two, each half as frequent as the one before.

Our own assumptions: no job has more than a quarter of the GPUs or runs for more than a week; jobs come as a Poisson
process, and have come for two weeks before the beginning.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BEGIN = datetime(2020, 4, 1, tzinfo=UTC)
BEFORE = 14 * 86400.0
"""Seconds for which jobs have come before the beginning; those that would still run are there then."""
LONGEST = 7 * 86400.0
"""Most seconds of a run."""
MEDIAN, SPREAD, GROWTH = 158.0, 2.6, 0.42
"""Median run time in seconds with one GPU, standard deviation of the logarithm, and the power of the number of GPUs by
which run times grow.
"""
PER_NODE = 8
"""GPUs of a node, and CPUs for each GPU of a job."""


def draw_gpu_jobs(
    count: int, largest: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the GPUs and the run times, in seconds, of jobs; ``largest``: most GPUs of a job."""
    powers = 2 ** np.arange(int(np.log2(largest)) + 1)
    chances = 0.5 ** np.arange(len(powers))
    gpus = random.choice(powers, count, p=chances / chances.sum())
    runs = MEDIAN * gpus**GROWTH * np.exp(SPREAD * random.standard_normal(count))
    return gpus.astype(np.int64), np.clip(runs, 1.0, LONGEST)


def write_gpu_jobs(path: Path, nodes: int, load: float, horizon: float, random: np.random.Generator) -> None:
    """Write the jobs that come within ``horizon`` seconds, and those that would run at the beginning.

    ``load``: offered GPU seconds as a share of what the nodes offer.
    """
    sample = draw_gpu_jobs(100_000, PER_NODE * nodes // 4, random)
    rate = load * PER_NODE * nodes / float(np.mean(sample[0] * sample[1]))
    count = int(random.poisson(rate * (BEFORE + horizon)))
    came = np.sort(random.random(count)) * (BEFORE + horizon) - BEFORE
    gpus, runs = draw_gpu_jobs(count, PER_NODE * nodes // 4, random)
    end = came + runs
    came = np.maximum(came, 0.0)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job_id", "gpu_num", "cpu_num", "node_num", "submit_time", "duration"])
        for job in np.flatnonzero(end > came).tolist():
            nodes_of_job = -(-int(gpus[job]) // PER_NODE)
            submitted = (BEGIN + timedelta(seconds=round(float(came[job])))).strftime("%Y-%m-%d %H:%M:%S")
            lasts = f"{max(float(end[job] - came[job]), 1.0):.0f}"
            writer.writerow([job, gpus[job], PER_NODE * gpus[job], nodes_of_job, submitted, lasts])
