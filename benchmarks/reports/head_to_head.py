"""Tables of several schedulers with a real API server: bursts, arrivals, and the processes' use."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.reports.sheets import NOTHING, Report, Sheet, number

OURS, KUBE, CLIENT = "poseidon", "kube-scheduler", "bindings only"
STEADY = "steady"
_PROGRAMS = {OURS: ("solver", "solver workers", "bridge"), KUBE: ("kube-scheduler",), CLIENT: ("client",)}
"""Processes of each scheduler. Other processes belong to the cluster, or to the client that creates pods."""

_MILLI = 1000.0

Runs = list[dict[str, Any]]
Cell = Callable[[Runs], str]
Found = dict[tuple[str, str], Runs]
"""Measured parts by name and scheduler, one per run."""


def head_to_head_sheets(report: Report) -> list[Sheet]:
    """Return tables of bursts, arrivals, starts and memory, as far as there are figures."""
    results = report["results"]
    sizes = [(each["sizes"]["nodes"], each["sizes"]["pods"], each["sizes"]["seconds"]) for each in results]
    sheets: list[Sheet] = []
    for size in sorted(set(sizes)):
        chosen = [each for each, its in zip(results, sizes, strict=True) if its == size]
        sheets += _size_sheets(chosen, size)
    return sheets


def _size_sheets(results: Sequence[dict[str, Any]], size: tuple[int, int, int]) -> Iterator[Sheet]:
    nodes, pods, seconds = size
    bursts = _collect(each for each in results if each["case"] != STEADY)
    arrivals = _collect(each for each in results if each["case"] == STEADY)
    failures = [
        f"{each['case']}, {each['scheduler']}: {each['failure']}" for each in results if "failure" in each
    ]
    if bursts:
        headings, rows = _table(
            bursts,
            [("pods/s", _rate), ("p50 / p99 s", _seconds), ("CPU s", _processor)],
        )
        caption = f"Bursts of up to {pods:,} pods, {nodes:,} nodes"
        yield Sheet(caption, ("workload", *headings), rows, [*_broken(bursts), *failures])
    if arrivals:
        headings, rows = _table(
            arrivals, [("p50 / p95 / p99 ms", _milliseconds), ("CPU s per 100 pods", _per_hundred)]
        )
        caption = f"Arrivals for {seconds} s at each rate, {nodes:,} nodes"
        yield Sheet(caption, ("rate", *headings), rows, _broken(arrivals))
    yield from _process_sheet(results, nodes)


def _collect(results: Iterator[dict[str, Any]]) -> Found:
    found: Found = {}
    for result in results:
        for part in result["parts"]:
            found.setdefault((part["name"], result["scheduler"]), []).append(
                {**part, "scheduler": result["scheduler"]}
            )
    return found


def _table(found: Found, columns: Sequence[tuple[str, Cell]]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: a row per part, and each column once per scheduler, side by side."""
    schedulers = _schedulers(found)
    names = list(dict.fromkeys(name for name, _ in found))
    headings = [f"{title}, {who}" for title, _ in columns for who in schedulers]
    rows = [
        [
            name,
            *(
                cell(found[name, who]) if (name, who) in found else NOTHING
                for _, cell in columns
                for who in schedulers
            ),
        ]
        for name in names
    ]
    return headings, rows


def _schedulers(found: Found) -> list[str]:
    present = {who for _, who in found}
    return [who for who in (OURS, KUBE, CLIENT) if who in present]


def _median(runs: Runs, value: Callable[[dict[str, Any]], float | None]) -> float | None:
    known = [each for run in runs if (each := value(run)) is not None]
    return statistics.median(known) if known else None


def _rate(runs: Runs) -> str:
    return number(_median(runs, lambda run: run["podsPerSecond"]))


def _latencies(runs: Runs, percents: Sequence[str], factor: float, digits: int) -> str:
    def of_percent(percent: str) -> str:
        found = _median(runs, lambda run: run["latencySeconds"][percent])
        return number(None if found is None else found * factor, digits)

    return " / ".join(map(of_percent, percents))


def _seconds(runs: Runs) -> str:
    return _latencies(runs, ("p50", "p99"), 1.0, 2)


def _milliseconds(runs: Runs) -> str:
    return _latencies(runs, ("p50", "p95", "p99"), _MILLI, 1)


def processor_seconds(run: dict[str, Any]) -> float:
    """Return the processor seconds of all processes of a part's scheduler while it was measured."""
    usage = run["usage"]
    return float(sum(usage[name]["cpuSeconds"] for name in _PROGRAMS[run["scheduler"]] if name in usage))


def _processor(runs: Runs) -> str:
    return number(_median(runs, processor_seconds), 2)


def _per_hundred(runs: Runs) -> str:
    return number(
        _median(runs, lambda run: 100 * processor_seconds(run) / run["bound"] if run["bound"] else None), 2
    )


def _broken(found: Found) -> list[str]:
    """Return remarks on a row: pods that wait, overcommitted nodes."""
    notes = []
    for (name, who), runs in found.items():
        waiting = max(run["waiting"] for run in runs)
        full = max(run["overcommittedNodes"] for run in runs)
        if waiting:
            notes.append(f"{name}, {who}: {waiting:,} pods stayed pending")
        if full and who != CLIENT:
            notes.append(f"{name}, {who}: {full:,} nodes are overcommitted")
    return notes


def _process_sheet(results: Sequence[dict[str, Any]], nodes: int) -> Iterator[Sheet]:
    """Yield tables of start and memory of every process: the maximum over runs."""
    rows: dict[tuple[str, str], list[float]] = {}
    for result in results:
        started = result.get("startCpuSeconds", {})
        for part in result["parts"]:
            for name, used in part["usage"].items():
                mine = name in _PROGRAMS[result["scheduler"]]
                row = rows.setdefault((result["scheduler"], name), [0.0, 0.0, 0.0])
                row[0] = max(row[0], started.get(name, 0.0) if mine else 0.0)
                row[1] += used["cpuSeconds"]
                row[2] = max(row[2], used["peakMiB"])
    if not rows:
        return
    table = [
        [
            f"{name}, beside {who}" if name not in _PROGRAMS[who] else name,
            number(start, 1),
            number(spent, 1),
            number(peak),
        ]
        for (who, name), (start, spent, peak) in rows.items()
    ]
    headings = ("process", "CPU s, start", "CPU s, all that was measured", "most MiB")
    yield Sheet(f"Processes, {nodes:,} nodes", headings, table)
