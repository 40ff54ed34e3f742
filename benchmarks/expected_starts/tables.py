"""Tables of the errors of expected starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from benchmarks.reports.sheets import NOTHING, Report, Sheet

Answer: TypeAlias = Sequence[float | None]
"""Seconds that a pod had waited and still waited, and its expected start: best, median, worst."""

ROUND = 1.0
"""Seconds by which a start may miss its interval, since rounds begin at whole seconds."""
HEADINGS = (
    "workload", "clusters", "moments", "pods and gangs", "later than the trace", "wait, min (median)",
    "error, of the wait (median)", "too late (median)", "within best and worst", "in each cluster",
    "processor seconds (median)",
)  # fmt: skip


def expected_starts_sheets(report: Report) -> list[Sheet]:
    """Return a table of the errors of predictions, by workload."""
    rows = []
    for name in report["options"]["workloads"]:
        runs = [run for run in report["runs"] if run["workload"] == name]
        seeds = sorted({run["seed"] for run in runs})
        answers = [pod for run in runs for pod in run["pods"]]
        figures = [NOTHING] * 6
        if answers:
            shares = [
                find_coverage(pod for run in runs if run["seed"] == seed for pod in run["pods"])
                for seed in seeds
            ]
            signed = [find_error(each) for each in answers]
            figures = [
                f"{median(_find_wait(each) for each in answers) / 60:.0f}",
                f"{median(map(abs, signed)):.0%}",
                f"{median(signed):+.0%}",
                f"{find_coverage(answers):.0%}",
                ", ".join(NOTHING if each is None else f"{100 * each:.0f}" for each in shares) + " %",
                f"{median(run['seconds'] for run in runs):.1f}",
            ]
        later = sum(run["later"] for run in runs)
        rows.append([name, str(len(seeds)), str(len(runs)), str(len(answers)), str(later), *figures])
    return [Sheet("Expected starts beside those that came to be", HEADINGS, rows)]


def find_coverage(answers: Iterable[Any]) -> float | None:
    """Return the share of answers whose pod started between best and worst, None without answers."""
    held = [_holds(each) for each in answers]
    return sum(held) / len(held) if held else None


def _holds(answer: Answer) -> bool:
    _, left, low, _, high = answer
    assert left is not None
    return (low is not None and low <= left + ROUND) and (high is None or left <= high + ROUND)


def find_error(answer: Answer) -> float:
    """Return by which part of the whole wait the median was too late; infinite if no start was predicted."""
    _, left, _, middle, _ = answer
    assert left is not None
    return np.inf if middle is None else (middle - left) / _find_wait(answer)


def _find_wait(answer: Answer) -> float:
    waited, left = answer[:2]
    assert waited is not None
    assert left is not None
    return waited + left
