"""Makes charts of saved results, which a page and matplotlib both draw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.fragmentation.summary import FURTHER, summarise
from benchmarks.quality.shards import find_losses
from benchmarks.reports.sheets import Report
from poseidon.live.figures import STAGES
from poseidon.ui.report import BarChart, Chart, LineChart, Section, StackChart

_PERCENT = [float(each) for each in range(101)]

Part = tuple[dict[str, Any], dict[str, Any]]
"""A result of a workload, and one of its measured parts."""


def sections(reports: Sequence[Report]) -> dict[str, Section]:
    """Return the charts by name, without those for which there are no results."""
    parts = [
        (result, part)
        for report in reports
        if report["kind"] == "workloads"
        for result in report["results"]
        for part in result["measured"]
    ]
    comparisons = [each for report in reports if report["kind"] == "comparison" for each in report["results"]]
    drawn = {
        "throughput-over-nodes": ("Pods per second over nodes", _throughput(parts)),
        "latency": ("Seconds from creation to placement, by percentile", _latency(parts)),
        "stages": ("Where the time of rounds goes", _stages(parts)),
        "comparison": (
            "How many times slower others are, of the largest comparison",
            _comparison(comparisons),
        ),
        "shards": ("More cost than by one solver, over the number of solvers", _losses(reports)),
        "growth": ("Processor seconds of a round over its size", _growth(reports)),
        "head-to-head": ("Creation to binding over arrivals", _arrivals(reports)),
        "fragmentation": ("GPUs given away: % of the way from FGD to a bound", _fragmentation(reports)),
    }
    return {name: Section(title, chart) for name, (title, chart) in drawn.items() if chart is not None}


def _arrivals(reports: Sequence[Report]) -> Chart | None:
    """Return charts with two lines per scheduler: median and 99th percentile of pods' waits at each rate."""
    lines: dict[str, dict[float, float]] = defaultdict(dict)
    for result in (
        each for report in reports if report["kind"] == "head-to-head" for each in report["results"]
    ):
        for part in result["parts"] if result["case"] == "steady" else ():
            for percent in ("p50", "p99"):
                rate, latency = float(part["name"].split()[0]), part["latencySeconds"][percent]
                if latency is not None:
                    lines[f"{result['scheduler']}, {percent}"][rate] = 1000 * latency
    rates = sorted({rate for points in lines.values() for rate in points})
    series = {label: [points.get(rate) for rate in rates] for label, points in lines.items()}
    return LineChart("Pods per second", "milliseconds", rates, series, logarithmic=True) if lines else None


def _fragmentation(reports: Sequence[Report]) -> Chart | None:
    """Return a chart with one to three bars per variant of openb: rounds, and in other ways where results have them."""
    items = []
    for each in (
        each for report in reports if report["kind"] == "fragmentation" for each in summarise(report)
    ):
        for way, name in ({"rounds": ""} | FURTHER).items():
            if way in each.means:
                spread = f" ± {each.spreads[way]:.2f}" if each.runs > 1 else ""
                text = f"{each.means[way]:.2f}{spread} % of GPUs"
                label = f"{each.variant}, {name}" if name else each.variant
                items.append((label, each.find_progress(way), text))
    return BarChart(items[::-1]) if items else None


def _losses(reports: Sequence[Report]) -> Chart | None:
    """Return a chart with a line per cluster size and load."""
    lines = {
        f"{report['options']['nodes']:,} nodes, {100 * load:.0f} % load": losses
        for report in reports
        if report["kind"] == "shards"
        for load, losses in find_losses(report).items()
    }
    counts = sorted({count for losses in lines.values() for count in losses})
    series = {label: [losses.get(count) for count in counts] for label, losses in lines.items()}
    return LineChart("solvers", "% more cost", [float(each) for each in counts], series) if lines else None


def _growth(reports: Sequence[Report]) -> Chart | None:
    """Return a chart with a line for each of nodes, tasks and classes, while the other two stay the same."""
    lines: dict[str, dict[int, float]] = {}
    for report in reports:
        for result in report["results"] if report["kind"] == "wide-growth" else ():
            axis, first = result["axis"], result["points"][0]
            others = ", ".join(
                f"{first[each]:,} {each}" for each in ("nodes", "tasks", "classes") if each != axis
            )
            lines[f"{axis} ({others})"] = {point["value"]: point["seconds"] for point in result["points"]}
    sizes = sorted({size for points in lines.values() for size in points})
    series = {label: [points.get(size) for size in sizes] for label, points in lines.items()}
    at = [float(size) for size in sizes]
    return (
        LineChart("Nodes, tasks or classes", "processor seconds", at, series, logarithmic=True)
        if lines
        else None
    )


def _throughput(parts: Sequence[Part]) -> Chart | None:
    """Return a chart with a line per workload, stage and number of pods that was measured at two sizes at least."""
    lines: dict[str, dict[int, float]] = defaultdict(dict)
    for result, part in parts:
        nodes = result["params"].get("nodes")
        if nodes and part["podsPerSecond"]:
            pods = result["params"].get("pods", part["bound"])
            lines[f"{result['workload']}, {pods:,} pods, {_who(result, part)}"][nodes] = part["podsPerSecond"]
    lines = {label: points for label, points in lines.items() if len(points) > 1}
    sizes = sorted({nodes for points in lines.values() for nodes in points})
    series = {label: [points.get(nodes) for nodes in sizes] for label, points in lines.items()}
    at = [float(nodes) for nodes in sizes]
    return LineChart("Nodes", "pods per second", at, series, logarithmic=True) if lines else None


def _latency(parts: Sequence[Part]) -> Chart | None:
    """Return charts of the latencies of pods that arrived over time or were bound end to end."""
    series: dict[str, list[float]] = {}
    for result, part in parts:
        curve = part.get("latencyCurve") or []
        if len(curve) > 1 and (result["stage"] == "end-to-end" or result["workload"] == "steady"):
            percent = np.linspace(0, 100, len(curve))
            label = f"{result['workload']}, {_who(result, part)}"
            series[label] = [float(each) for each in np.interp(_PERCENT, percent, curve)]
    return LineChart("Percent of pods", "seconds", _PERCENT, series) if series else None


def _stages(parts: Sequence[Part]) -> Chart | None:
    """Return a chart of the shares of the stages, in the core alone."""
    items = [
        (
            f"{result['workload']}, {result['params'].get('nodes', 0):,} nodes, {part['bound']:,} pods",
            [100 * part["rounds"]["seconds"][stage] / part["seconds"] for stage in STAGES],
            f"{part['seconds']:,.3f} s",
        )
        for result, part in parts
        if result["stage"] == "algorithm" and part["seconds"]
    ]
    return StackChart(STAGES, items) if items else None


def _comparison(comparisons: Sequence[dict[str, Any]]) -> Chart | None:
    if not comparisons:
        return None
    largest = max(comparisons, key=lambda each: each["results"][0]["quality"]["placed"])
    items = list(_iter_comparisons(largest))
    return BarChart(items, logarithmic=True) if items else None


def _iter_comparisons(comparison: dict[str, Any]) -> Iterator[tuple[str, float, str]]:
    for each in comparison["results"]:
        if "timesSlower" in each:
            cost = f", cost x {each['costRatio']:.3f}" if each.get("costRatio") else ""
            yield each["name"], each["timesSlower"], f"x {each['timesSlower']:,.1f}{cost}"


def _who(result: dict[str, Any], part: dict[str, Any]) -> str:
    return str(part.get("scheduler", result["stage"]))
