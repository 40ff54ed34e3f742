"""Simulates how many nodes stay empty with the overlay ``lifetimes``, without it, and with wrong run times.

The work is that of the guide to simulations (examples/16-simulate): services of a lognormal run time, exponential batch
jobs, and training jobs of four workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import yaml

from benchmarks.environment import environment
from benchmarks.reports.sheets import Report, Sheet
from poseidon.simulate.report import make_report
from poseidon.simulate.scenario.document import check_scenario
from poseidon.simulate.setup import set_up

EXAMPLE = Path(__file__).parents[2] / "examples" / "16-simulate" / "today.yaml"
FILLING = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "policy": {"name": "most_allocated"},
}
"""Configuration without the overlay."""
WARM = 1 / 3
"""Share of the time that is not counted: at the beginning, all running work arrives at once."""


@dataclass(frozen=True, slots=True)
class LifetimesOptions:
    """Options of the measurement: loads, seeds and simulated days."""

    loads: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8)
    """Work, as shares of the nodes' CPU."""
    seeds: int = 2
    """Number of draws of the work for each load."""
    nodes: int = 120
    """Nodes of 32 cores."""
    days: float = 3.0
    """Number of simulated days."""
    weight: int = 10
    """Weight of the overlay; the policy has 1."""


def measure_lifetimes(options: LifetimesOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Run the same work with the overlay ``lifetimes``, without it, and with wrong run times."""
    runs = []
    overlay = {"costModels": [{"name": "lifetimes", "weight": options.weight}]}
    ways: dict[str, tuple[dict[str, Any], str]] = {
        "without": (FILLING, "learnt"),
        "learnt": (FILLING | overlay, "learnt"),
        "wrong": (FILLING | overlay, "random"),
    }
    for load in options.loads:
        for seed in range(1, options.seeds + 1):
            run: dict[str, object] = {"load": load, "seed": seed}
            for way, (configuration, told) in ways.items():
                progress(f"load {load:g}, seed {seed}, {way}")
                began = process_time()
                run[way] = _measure_empty(options, configuration, told, load, seed)
                run[f"{way}Seconds"] = process_time() - began
            runs.append(run)
    return {"kind": "lifetimes", "environment": environment(), "options": asdict(options), "runs": runs}


def _measure_empty(
    options: LifetimesOptions, configuration: dict[str, Any], told: str, load: float, seed: int
) -> float:
    """Return the share of nodes without running tasks, as a mean over time."""
    document = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    (pool,) = document["cluster"]["pools"]
    pool["count"] = options.nodes
    generator = document["workload"]["generator"]
    del generator["capacity"]
    generator["load"] = load
    more = {"seed": seed, "horizon": 86_400 * options.days, "sampleEvery": 1200}
    with TemporaryDirectory() as folder:
        (Path(folder) / "scheduler.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
        scenario = document | more | {"runTimes": told, "configuration": "scheduler.yaml"}
        simulation = set_up(check_scenario(scenario, EXAMPLE.name), Path(folder))
    simulation.run()
    empty = make_report(simulation).curves.empty
    return mean(empty[int(len(empty) * WARM) :]) / options.nodes


def lifetimes_sheets(report: Report) -> list[Sheet]:
    """Return tables of the percent of empty nodes by load, and the difference to the run without overlay."""
    rows = []
    for load in dict.fromkeys(run["load"] for run in report["runs"]):
        runs = [run for run in report["runs"] if run["load"] == load]
        without, learnt, wrong = (
            100 * mean(run[way] for run in runs) for way in ("without", "learnt", "wrong")
        )
        least = [100 * min(run[way] - run["without"] for run in runs) for way in ("learnt", "wrong")]
        rows.append(
            [
                f"{100 * load:.0f} %",
                f"{without:.1f}",
                f"{learnt:.1f}",
                f"{learnt - without:+.1f} ({least[0]:+.1f})",
                f"{wrong:.1f}",
                f"{wrong - without:+.1f} ({least[1]:+.1f})",
            ]
        )
    options = report["options"]
    caption = (
        f"Percent of {options['nodes']} nodes that are empty, and points more (of the worst run), "
        f"{options['seeds']} runs of {options['days']:g} days each"
    )
    headings = ("load", "without", "lifetimes", "points", "wrong run times", "points")
    return [Sheet(caption, headings, rows)]
