"""Simulates generators of Kueue's performance tests: when all workloads have ended, compared with the optimum."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from benchmarks.environment import environment
from benchmarks.reports.sheets import Report, Sheet
from poseidon.simulate.engine import Simulation
from poseidon.simulate.report import make_report
from poseidon.simulate.scenario.document import check_scenario
from poseidon.simulate.setup import set_up
from poseidon.simulate.tasks import TaskProgress

QUEUES = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "policy": {"name": "cpu_mem"},
    "queues": {"source": ["kueue"]},
}
"""The solver's configuration."""
AS_KUEUE = {
    "roundEvery": 0.1,
    "onePerQueue": True,
    "requests": {
        "perSecond": 50, "burst": 100, "perPod": 0, "perGang": 1, "perEviction": 0, "perEvictedGang": 1,
        "perRefusal": 1,
    },
}  # fmt: skip
"""How Kueue decides and writes with the limits of its performance tests (``minimalkueue/main.go``)."""
CREATIONS = {"perSecond": 1000, "burst": 2000, "latency": "2ms"}
"""The limits of the client that creates nodes, queues and workloads there (``envtest``). The latency was measured: that
client needed 6.25 s for the 3,200 requests that create 640 nodes, with kube-apiserver 1.36 on two cores.
"""
MODES = ("as Kueue", "unlimited")
"""Set up as Kueue decides; or all that waits takes part, and writing takes no time."""


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    """Options of the measurement: files of generators, modes and time between rounds."""

    files: tuple[Path, ...]
    """Files ``generator.yaml``."""
    modes: tuple[str, ...] = MODES
    """How the simulation is set up."""
    round_every: float = 0.25
    """Seconds between rounds where it is unlimited."""
    horizon: float = 3600.0
    """Simulated seconds after which a run is cut off."""


def measure_generators(options: GeneratorOptions, *, progress: Callable[[str], None]) -> Report:
    """Simulate each file in each mode. Raises ``SimulationError`` and ``OSError``."""
    runs = []
    for file in options.files:
        optimum = find_optimum(yaml.safe_load(file.read_text(encoding="utf-8")))
        for mode in options.modes:
            progress(f"{file}, {mode}")
            runs.append({"name": _name(file), "mode": mode, "optimum": optimum, **_run(file, mode, options)})
    kept = asdict(options) | {"files": [str(file) for file in options.files]}
    return {"kind": "kueue-generators", "environment": environment(), "options": kept, "runs": runs}


def _name(file: Path) -> str:
    """Return the name of a generator: its folder's, as all of Kueue's files are called alike."""
    return file.resolve().parent.name if file.stem == "generator" else file.stem


def find_optimum(document: Mapping[str, Any]) -> float:
    """Return the seconds that the cohort with the most work for its quota needs at least."""
    return max(_sum_up(entry) for entry in document["cohorts"])


def _sum_up(cohort: Mapping[str, Any]) -> float:
    work = quota = 0.0
    for queues in cohort["queuesSets"]:
        number = int(queues.get("count", 1))
        quota += number * _to_cores(queues["nominalQuota"])
        work += number * sum(_iter_work(queues["workloadsSets"]))
    return work / quota


def _iter_work(sets: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    """Yield the core-seconds of each class of workloads."""
    for each in sets:
        for kind in each["workloads"]:
            cores = _to_cores(kind["request"]) * int(kind.get("podCount") or 1)
            yield int(each.get("count", 1)) * cores * float(kind["runtimeMs"]) / 1000.0


def _to_cores(amount: str | float) -> float:
    text = str(amount)
    return float(text[:-1]) / 1000.0 if text.endswith("m") else float(text)


def _run(file: Path, mode: str, options: GeneratorOptions) -> dict[str, Any]:
    document: dict[str, Any] = {
        "apiVersion": "firmament.io/v1alpha1",
        "kind": "Simulation",
        "horizon": options.horizon,
        "sampleEvery": max(1.0, options.horizon / 1000.0),
        "roundEvery": options.round_every,
        "configuration": "queues.yaml",
        "cluster": {},
        "workload": {"trace": {"format": "kueue", "path": str(file.resolve())}},
    }
    if mode == MODES[0]:
        document |= AS_KUEUE
        document["workload"]["trace"]["creations"] = CREATIONS
    with TemporaryDirectory() as folder:
        (Path(folder) / "queues.yaml").write_text(yaml.safe_dump(QUEUES), encoding="utf-8")
        simulation = set_up(check_scenario(document, str(file)), Path(folder))
    begin = time.process_time()
    simulation.run()
    seconds = time.process_time() - begin
    report = make_report(simulation)
    left = int((simulation.tasks.state != TaskProgress.ENDED).sum())
    return {
        "pods": len(simulation.tasks.state),
        "left": left,
        "makespan": None if left else report.makespan,
        "rounds": report.rounds,
        "evictions": report.preempted,
        "waits": _average_waits(simulation),
        "seconds": seconds,
    }


def _average_waits(simulation: Simulation) -> dict[str, float]:
    """Return the mean wait of the pods of each class in seconds, of those that have begun."""
    tasks = simulation.tasks
    waits = tasks.first_begun - tasks.work.arrival
    names = np.array(simulation.kinds.names)[tasks.work.template]
    begun = tasks.first_begun >= 0.0
    return {name: float(waits[begun & (names == name)].mean()) for name in sorted({*names[begun].tolist()})}


def generator_sheets(report: Report) -> list[Sheet]:
    """Return a table with a row per run, and one with the mean waits of each class."""
    rows, waits = [], []
    for run in report["runs"]:
        made, optimum = run["makespan"], run["optimum"]
        rows.append(
            [
                run["name"],
                run["mode"],
                f"{run['pods']:,}",
                f"over {report['options']['horizon']:g}" if made is None else f"{made:.1f}",
                f"{optimum:.1f}",
                "–" if made is None else f"{made / optimum:.2f}",
                f"{run['rounds']:,}",
                f"{run['evictions']:,}",
                f"{run['seconds']:.1f}",
            ]
        )
        waits += [[run["name"], run["mode"], kind, f"{wait:.1f}"] for kind, wait in run["waits"].items()]
    headings = (
        "generator", "simulated", "pods", "seconds until all have ended", "optimum", "of the optimum", "rounds",
        "pods evicted", "processor seconds",
    )  # fmt: skip
    return [
        Sheet("Kueue's generators", headings, rows, ["The optimum: work by quota"]),
        Sheet("Mean waits", ("generator", "simulated", "class", "seconds"), waits, []),
    ]
