"""Predicts at moments of a simulated cluster when some of its pods will start, and compares with what then happens.

The prediction is that of ``poseidon plan --when``, from manifests as the API server would hold them at that moment,
without future arrivals and run times. Pods bear what they were told at earlier moments. A gang counts as one pod.
Errors are relative to the whole wait, from creation to node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.environment import environment
from benchmarks.expected_starts.moments import HOUR, Question, Sample, let_happen
from benchmarks.expected_starts.truth import describe_cluster, name_of
from benchmarks.expected_starts.workloads import WORKLOADS, Size
from benchmarks.reports.sheets import Report
from poseidon.embedding import load_configuration
from poseidon.kube.api.nodes import Node
from poseidon.simulate.engine import Simulation
from poseidon.simulate.expected_starts import expect_starts
from poseidon.simulate.nodes import nodes_of
from poseidon.simulate.scenario.document import Scenario
from poseidon.simulate.setup import set_up
from poseidon.simulate.start_annotations import describe_start
from poseidon.simulate.workloads.traces import read_trace


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Options of the measurement: which clusters are simulated, with which seeds."""

    workloads: tuple[str, ...]
    """Names of workloads."""
    moments: int
    """Most moments at which each cluster is asked."""
    answers: int
    """Most pods that are asked at one moment."""
    hours: tuple[int, int] | None
    """From when to when is asked, after the beginning; None: as each workload says."""
    seeds: int
    """Number of seeds; with each, one cluster of each workload is simulated."""
    scale: float
    """Share of the full size."""
    openb: Path | None
    """Folder with openb's lists."""
    first_seed: int = 1
    """Seed of the first cluster; those that follow have the next ones."""
    openb_part: int = 48
    """One in how many of openb's nodes is taken."""


def measure_starts(options: StartOptions, progress: Callable[[str], None]) -> Report:
    """Return predicted and real starts for each moment."""
    runs = []
    for name in options.workloads:
        workload = WORKLOADS[name]
        sample = Sample(options.moments, options.answers, options.hours or workload.hours)
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            with TemporaryDirectory() as folder:
                size = Size(Path(folder), seed, options.scale, options.openb, options.openb_part)
                scenario = workload.make(size)
                progress(f"{name}, seed {seed}: what comes to be")
                simulation = set_up(scenario, size.folder)
                nodes = _list_nodes(scenario, size.folder)
            answers: dict[int, str] = {}
            for each in let_happen(simulation, sample, seed):
                hour = each.moment.now / HOUR
                progress(f"{name}, seed {seed}: hour {hour:.2f}, {len(each.moment.waiting)} wait")
                runs.append({"workload": name, "seed": seed, **_compare(each, simulation, nodes, answers)})
    stated = asdict(options) | {"openb": options.openb is not None}
    return {"kind": "expected-starts", "environment": environment(), "options": stated, "runs": runs}


def _list_nodes(scenario: Scenario, folder: Path) -> Sequence[Node]:
    pools, trace = scenario.cluster.pools, scenario.workload.trace
    if pools or trace is None:
        return [node for pool in pools for node in nodes_of(pool, 0, pool.count)]
    return [msgspec.convert(node, Node) for node in read_trace(trace, folder).nodes]


def _compare(
    question: Question, simulation: Simulation, nodes: Sequence[Node], answers: dict[int, str]
) -> dict[str, Any]:
    """Return the figures of a moment: for each asked pod that got a node, seconds that it had waited and still waited,
    and the best, median and worst prediction (None for none). ``later``: how many asked pods got none in the trace.

    ``answers``: what pods were told before, to which the answers of this moment are added.
    """
    moment = question.moment
    now = simulation.clock.begin + moment.now
    manifests = describe_cluster(simulation, moment, nodes, answers)
    began = time.process_time()
    found = expect_starts(manifests, load_configuration(None), now)
    seconds = time.process_time() - began
    expected = {each.pod: each for each in found.starts}
    pods = []
    for task in question.asked.tolist():
        begun, each = float(simulation.tasks.first_begun[task]), expected[name_of(task)]
        answers[task] = describe_start(each, now)
        if begun >= 0.0:
            waited = moment.now - float(simulation.tasks.work.arrival[task])
            pods.append([waited, begun - moment.now, each.low, each.median, each.high])
    return {
        "hour": moment.now / HOUR, "waiting": len(moment.waiting), "ahead": found.ahead, "seconds": seconds,
        "compared": found.compared, "widened": found.widened, "pods": pods,
        "later": len(question.asked) - len(pods),
    }  # fmt: skip
