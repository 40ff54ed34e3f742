"""Predicts at moments of a simulated cluster when its pods will start, continues the simulation, and compares.

The prediction is that of ``poseidon plan --when``, from manifests as the API server would hold them at that moment,
without future arrivals and run times. A gang counts as one pod. Errors are relative to the whole wait, from creation to
node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.environment import environment
from benchmarks.expected_starts.truth import describe_cluster, find_waiting, name_of
from benchmarks.expected_starts.workloads import WORKLOADS, Size
from benchmarks.reports.sheets import NOTHING, Report, Sheet
from poseidon.embedding import load_configuration
from poseidon.kube.api.nodes import Node
from poseidon.manifests.loader import Manifests
from poseidon.simulate.engine import Simulation
from poseidon.simulate.expected_starts import expect_starts
from poseidon.simulate.nodes import nodes_of
from poseidon.simulate.scenario.document import Scenario
from poseidon.simulate.setup import set_up
from poseidon.simulate.workloads.columns import Int64
from poseidon.simulate.workloads.traces import read_trace

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What is measured."""

    workloads: tuple[str, ...]
    """Names of workloads."""
    hours: tuple[int, ...]
    """Hours after the beginning at which starts are predicted."""
    seeds: int
    """Number of seeds; with each, one cluster of each workload is simulated."""
    scale: float
    """Share of the full size."""
    openb: Path | None
    """Folder with openb's lists."""
    first_seed: int = 1
    """Seed of the first cluster; those that follow have the next ones."""
    openb_part: int = 16
    """One in how many of openb's nodes is taken."""


class _Asked(NamedTuple):
    """The prediction at one moment."""

    hour: int
    waiting: Int64
    manifests: Manifests


def measure_starts(options: StartOptions, progress: Callable[[str], None]) -> Report:
    """Return predicted and real starts for each moment."""
    runs = []
    for name in options.workloads:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            with TemporaryDirectory() as folder:
                size = Size(Path(folder), seed, options.scale, options.openb, options.openb_part)
                scenario = WORKLOADS[name](size)
                progress(f"{name}, seed {seed}: what comes to be")
                simulation = set_up(scenario, size.folder)
                asked = _let_happen(simulation, _list_nodes(scenario, size.folder), options.hours)
            for each in asked:
                progress(f"{name}, seed {seed}: hour {each.hour}, {len(each.waiting)} wait")
                runs.append({"workload": name, "seed": seed, **_compare(each, simulation)})
    stated = asdict(options) | {"openb": options.openb is not None}
    return {"kind": "expected-starts", "environment": environment(), "options": stated, "runs": runs}


def _list_nodes(scenario: Scenario, folder: Path) -> Sequence[Node]:
    pools, trace = scenario.cluster.pools, scenario.workload.trace
    if pools or trace is None:
        return [node for pool in pools for node in nodes_of(pool, 0, pool.count)]
    return [msgspec.convert(node, Node) for node in read_trace(trace, folder).nodes]


def _let_happen(simulation: Simulation, nodes: Sequence[Node], hours: Sequence[int]) -> list[_Asked]:
    """Return the predictions at each hour at which tasks wait; by the end, their tasks have nodes or never get one."""
    asked = []
    for hour in sorted(hours):
        simulation.run(until=hour * HOUR)
        simulation.clock.now = hour * HOUR
        waiting = find_waiting(simulation)
        if len(waiting):
            asked.append(_Asked(hour, waiting, describe_cluster(simulation, nodes)))
    everything = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(each.waiting for each in asked)]))
    simulation.run(stop=lambda: bool((simulation.tasks.first_begun[everything] >= 0.0).all()))
    return asked


def _compare(asked: _Asked, simulation: Simulation) -> dict[str, Any]:
    """Return the figures of a moment: for each pod that got a node, seconds that it had waited and still waited, and
    the best, median and worst prediction (None for none).
    """
    now = asked.hour * HOUR
    began = time.process_time()
    found = expect_starts(asked.manifests, load_configuration(None), simulation.clock.begin + now)
    seconds = time.process_time() - began
    expected = {each.pod: each for each in found.starts}
    pods = []
    for task in asked.waiting.tolist():
        begun, each = float(simulation.tasks.first_begun[task]), expected[name_of(task)]
        if begun >= 0.0:
            waited = now - float(simulation.tasks.work.arrival[task])
            pods.append([waited, begun - now, each.low, each.median, each.high])
    return {
        "hour": asked.hour, "waiting": len(asked.waiting), "ahead": found.ahead, "seconds": seconds, "pods": pods
    }  # fmt: skip


def expected_starts_sheets(report: Report) -> list[Sheet]:
    """Return tables of the errors of predictions, by workload."""
    rows = []
    for name in report["options"]["workloads"]:
        runs = [run for run in report["runs"] if run["workload"] == name]
        pods = [pod for run in runs for pod in run["pods"]]
        held, errors = [], []
        for waited, left, low, middle, high in pods:
            held.append((low is not None and low <= left + 1.0) and (high is None or left <= high + 1.0))
            errors.append(abs(middle - left) / (waited + left) if middle is not None else np.inf)
        figures = [NOTHING] * 4
        if pods:
            wait = median(waited + left for waited, left, *_ in pods)
            seconds = median(run["seconds"] for run in runs)
            figures = [
                f"{wait / 60:.0f}", f"{median(errors):.0%}", f"{sum(held) / len(held):.0%}", f"{seconds:.1f}"
            ]  # fmt: skip
        rows.append([name, str(len(runs)), str(len(pods)), *figures])
    headings = (
        "workload", "moments", "pods and gangs", "wait, min (median)", "error, of the wait (median)",
        "within best and worst", "processor seconds (median)",
    )  # fmt: skip
    return [Sheet("Expected starts beside those that came to be", headings, rows)]
