"""Simulates a day of a large cluster several times: time, memory, and whether all reports are equal byte by byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks.environment import environment
from benchmarks.reports.sheets import Report, Sheet

CORES = 32
KINDS = [
    {
        "name": "service", "share": 0.4, "requests": {"cpu": 2, "memory": "8Gi"}, "priority": 100,
        "duration": {"distribution": "lognormal", "median": "6h", "sigma": 1},
    },
    {
        "name": "batch", "share": 0.4, "requests": {"cpu": 2, "memory": "4Gi"},
        "duration": {"distribution": "exponential", "mean": "2h"},
    },
    {
        "name": "training", "share": 0.2, "requests": {"cpu": 4, "memory": "16Gi"}, "members": 4,
        "duration": {"mean": "4h"},
    },
]  # fmt: skip
"""Kinds of work: 160,000 tasks at 90 % of 12,500 nodes."""


@dataclass(frozen=True, slots=True)
class DayOptions:
    """Options of the measurement: the simulated day, and the number of runs."""

    nodes: int = 12_500
    """Nodes of 32 cores."""
    load: float = 0.9
    """Work, as a share of the nodes' CPU."""
    hours: float = 24.0
    """Number of simulated hours."""
    runs: int = 2
    """Number of runs of the same day, each in a process of its own."""


def measure_day(options: DayOptions, *, progress: Callable[[str], None]) -> Report:
    """Run the day ``runs`` times by the command ``poseidon simulate``.

    Raises ``RuntimeError`` if the command fails.
    """
    runs = []
    with TemporaryDirectory() as folder:
        scenario = Path(folder) / "day.yaml"
        scenario.write_text(yaml.safe_dump(_describe_day(options)), encoding="utf-8")
        for number in range(1, options.runs + 1):
            progress(f"{options.nodes} nodes, {options.hours:g} hours, run {number} of {options.runs}")
            runs.append(_run(scenario, Path(folder) / "report.json"))
    return {"kind": "large-day", "environment": environment(), "options": asdict(options), "runs": runs}


def _describe_day(options: DayOptions) -> dict[str, Any]:
    offered = {"cpu": CORES, "memory": f"{4 * CORES}Gi"}
    return {
        "apiVersion": "firmament.io/v1alpha1",
        "kind": "Simulation",
        "horizon": 3600.0 * options.hours,
        "roundEvery": "5m",
        "cluster": {"pools": [{"name": "node", "count": options.nodes, "allocatable": offered}]},
        "workload": {"generator": {"load": options.load, "kinds": KINDS}},
    }


def _run(scenario: Path, output: Path) -> dict[str, Any]:
    """Return one run's figures, and the digest of its report without the parts that differ between runs."""
    command = [sys.executable, "-m", "poseidon", "simulate", str(scenario), "-o", "json"]
    with output.open("wb") as file:
        child = subprocess.Popen(command, stdout=file)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"poseidon simulate ended with exit code {child.returncode}; run it by itself")
    report = json.loads(output.read_bytes())
    measured = report.pop("seconds")
    return {
        "tasks": report["waits"][-1]["arrived"],
        "running": mean(report["curves"]["running"]),
        "cpu": report["utilisation"]["cpu"],
        "rounds": report["rounds"],
        "roundP50": measured["roundP50"],
        "seconds": used.ru_utime + used.ru_stime,
        "peakMiB": used.ru_maxrss / 1024,
        "digest": sha256(json.dumps(report).encode()).hexdigest(),
    }


def day_sheets(report: Report) -> list[Sheet]:
    """Return a table with a row per run, and whether their reports are equal."""
    options, runs = report["options"], report["runs"]
    rows = [
        [
            str(number),
            f"{run['tasks']:,}",
            f"{run['running']:,.0f}",
            f"{100 * run['cpu']:.1f}",
            f"{run['rounds']:,}",
            f"{1000 * run['roundP50']:.0f}",
            f"{run['seconds']:.0f}",
            f"{run['peakMiB']:,.0f}",
            run["digest"][:12],
        ]
        for number, run in enumerate(runs, start=1)
    ]
    different = len({run["digest"] for run in runs})
    note = "All reports are the same bytes" if different == 1 else f"There are {different} different reports"
    headings = (
        "run", "tasks", "running (mean)", "CPU in use, %", "rounds", "ms per round (p50)", "processor seconds",
        "peak MiB", "digest",
    )  # fmt: skip
    caption = f"{options['hours']:g} hours of {options['nodes']:,} nodes"
    return [Sheet(caption, headings, rows, [note] if len(runs) > 1 else [])]
