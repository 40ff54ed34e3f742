"""Saved results as pictures; needs matplotlib, which the extra ``bench`` installs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES = ("snapshot", "network", "solve", "admit")


class PlottingUnavailableError(Exception):
    """matplotlib is not installed; the text says how to get it."""


def draw_all(reports: Sequence[dict[str, Any]], folder: Path, kind: str = "svg") -> list[Path]:
    """Draw what the results allow into ``folder``; returns the files. Raises ``PlottingUnavailableError``."""
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        # Equal results give equal files.
        mpl.rcParams["svg.hashsalt"] = "benchmarks"
        import matplotlib.pyplot as plt
    except ImportError:
        raise PlottingUnavailableError(
            "plots need matplotlib; install it with: pip install 'poseidon-firmament[bench]'"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        (result, part)
        for report in reports
        if report["kind"] == "workloads"
        for result in report["results"]
        for part in result["measured"]
    ]
    comparisons = [each for report in reports if report["kind"] == "comparison" for each in report["results"]]
    pictures: dict[str, Callable[[Axes], bool]] = {
        "throughput-over-nodes": lambda axes: _throughput(axes, parts),
        "latency": lambda axes: _latency(axes, parts),
        "stages": lambda axes: _stages(axes, parts),
        "comparison": lambda axes: _comparison(axes, comparisons),
    }
    written = []
    for name, draw in pictures.items():
        figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
        if draw(axes):
            path = folder / f"{name}.{kind}"
            figure.savefig(path, metadata={"Date": None} if kind == "svg" else None)
            written.append(path)
        plt.close(figure)
    return written


Parts = Sequence[tuple[dict[str, Any], dict[str, Any]]]


def _throughput(axes: Axes, parts: Parts) -> bool:
    """Pods per second over nodes, a line per workload, stage and number of pods; at least two sizes of one."""
    lines: dict[str, dict[int, float]] = defaultdict(dict)
    for result, part in parts:
        nodes = result["params"].get("nodes")
        if nodes and part["podsPerSecond"]:
            pods = result["params"].get("pods", part["bound"])
            who = part.get("scheduler", result["stage"])
            lines[f"{result['workload']}, {pods:,} pods, {who}"][nodes] = part["podsPerSecond"]
    lines = {label: points for label, points in lines.items() if len(points) > 1}
    for label, points in lines.items():
        axes.plot(sorted(points), [points[nodes] for nodes in sorted(points)], marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="pods per second")
    axes.grid(alpha=0.3)
    if lines:
        axes.legend(fontsize="small")
    return bool(lines)


def _latency(axes: Axes, parts: Parts) -> bool:
    """The distribution of latencies of what arrived over time or was bound end to end."""
    drawn = False
    for result, part in parts:
        curve = part.get("latencyCurve") or []
        if len(curve) > 1 and (result["stage"] == "end-to-end" or result["workload"] == "steady"):
            share = [number / (len(curve) - 1) for number in range(len(curve))]
            axes.plot(curve, share, label=f"{result['workload']}, {part.get('scheduler', result['stage'])}")
            drawn = True
    axes.set(xlabel="seconds from creation to placement", ylabel="share of pods")
    axes.grid(alpha=0.3)
    if drawn:
        axes.legend(fontsize="small")
    return drawn


def _stages(axes: Axes, parts: Parts) -> bool:
    """Where the time of rounds goes, in the core alone."""
    shown = [(result, part) for result, part in parts if result["stage"] == "algorithm" and part["seconds"]]
    labels = [f"{result['workload']}\n{result['params'].get('nodes', 0):,}" for result, _ in shown]
    bottom = [0.0] * len(shown)
    for stage in STAGES:
        share = [part["rounds"]["seconds"][stage] / part["seconds"] for _, part in shown]
        axes.bar(range(len(shown)), share, bottom=bottom, label=stage)
        bottom = [below + each for below, each in zip(bottom, share, strict=True)]
    axes.set_xticks(range(len(shown)), labels, rotation=60, fontsize="x-small", ha="right")
    axes.set(ylabel="share of the rounds' time")
    if shown:
        axes.legend(fontsize="small")
    return bool(shown)


def _comparison(axes: Axes, comparisons: Sequence[dict[str, Any]]) -> bool:
    """How many times slower each comparator is, for the largest comparison."""
    if not comparisons:
        return False
    largest = max(comparisons, key=lambda each: each["results"][0]["quality"]["placed"])
    measured = [each for each in largest["results"] if "timesSlower" in each]
    axes.barh([each["name"] for each in measured], [each["timesSlower"] for each in measured])
    axes.axvline(1.0, color="black", linewidth=1)
    for row, each in enumerate(measured):
        cost = each.get("costRatio")
        axes.text(
            each["timesSlower"], row, f" cost x {cost:.3f}" if cost else "", va="center", fontsize="small"
        )
    axes.set(xscale="log", xlabel="times this scheduler's seconds")
    return bool(measured)
