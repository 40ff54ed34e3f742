"""Saved results as Markdown, for documents: one table per kind of result, with the machine that they were seen on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Report = dict[str, Any]


class ResultError(ValueError):
    """A file that is no result of this harness: names the file and what is wrong."""


def load_results(paths: Iterable[Path]) -> list[Report]:
    """Read result files, and all ``*.json`` of folders, in order of name. Raises ``ResultError``."""
    files: list[Path] = []
    for path in paths:
        files.extend(sorted(path.glob("*.json")) if path.is_dir() else [path])
    reports = []
    for file in files:
        try:
            report = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ResultError(f"{file}: cannot be read: {error}") from None
        if not isinstance(report, dict) or "environment" not in report:
            raise ResultError(f"{file}: no result of this harness; it has no environment")
        report.setdefault("kind", "throughput")
        report["file"] = file.name
        reports.append(report)
    return reports


def render(reports: Sequence[Report]) -> str:
    """Markdown for results of all kinds; unknown kinds are left out."""
    sections = []
    for kind, (title, write) in _KINDS.items():
        found = _merged([report for report in reports if report["kind"] == kind])
        if found:
            sections.append(
                f"### {title}\n\n" + "\n\n".join(_with_machine(each, write(each)) for each in found)
            )
    return "\n\n".join(sections) + "\n"


def _merged(reports: Sequence[Report]) -> list[Report]:
    """Reports of one kind; those that consist of a list of results are put together if they share a machine."""
    merged: list[Report] = []
    for report in reports:
        same = next((each for each in merged if each["environment"] == report["environment"]), None)
        if same is None or not isinstance(report.get("results"), list):
            merged.append(dict(report))
        else:
            same["results"] = [*same["results"], *report["results"]]
            same["file"] += f", {report['file']}"
    return merged


def _with_machine(report: Report, table: str) -> str:
    machine = report["environment"]
    packages = machine.get("packages", {})
    return (
        f"{table}\n\n{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Python {machine['python']}, OR-Tools {packages.get('ortools', '?')} (`{report['file']}`)."
    )


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    lines = ["| " + " | ".join(headings) + " |", "|---|" + "---:|" * (len(headings) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _workloads(report: Report) -> str:
    rows = []
    for result in report["results"]:
        params = ", ".join(f"{value:,} {key}" for key, value in result["params"].items())
        for part in result["measured"]:
            broken = part.get("brokenRules")
            latency, rounds, reference = part["latencySeconds"], part["rounds"], result.get("reference")
            rows.append(
                [
                    f"{result['workload']} ({params})",
                    part.get("scheduler", result["stage"]),
                    _number(part["podsPerSecond"]),
                    _number(part["seconds"], 3),
                    "-" if latency["p99"] is None else f"{latency['p99']:.2f} s",
                    f"{part['waiting']:,}",
                    f"{rounds['certified']} of {rounds['count']}" if rounds["count"] else "-",
                    "-" if broken is None else f"{sum(broken.values()):,}",
                    f"{reference['podsPerSecond']:,.0f}" if reference else "-",
                ]
            )
    headings = (
        "workload",
        "stage",
        "pods/s",
        "seconds",
        "p99",
        "left",
        "certified",
        "rules broken",
        "reference, pods/s",
    )
    return markdown_table(headings, rows)


def _comparison(report: Report) -> str:
    rows = []
    for result in report["results"]:
        params = ", ".join(f"{value:,} {key}" for key, value in result["params"].items())
        for each in result["results"]:
            if "notMeasured" in each:
                rows.append([each["name"], params, "not run", each["notMeasured"], "-", "-"])
                continue
            rows.append(
                [
                    each["name"],
                    params,
                    _number(each["tasksPerSecond"]),
                    f"{each['timesSlower']:.1f}" if "timesSlower" in each else "1",
                    f"{each['costRatio']:.4f}" if each.get("costRatio") else "1",
                    f"{each['quality']['unplaced']:,}",
                ]
            )
    headings = ("who", "size", "tasks/s", "times slower", "cost, relative", "unplaced")
    return markdown_table(headings, rows)


def _optimum(report: Report) -> str:
    rows = [
        ("CP-SAT", f"{report['optimum']:,}", "100 %"),
        ("this scheduler", f"{report['placed']:,}", f"{report['share']:.1%}"),
        ("first fit, smallest first", f"{report['smallestFirst']:,}", f"{report['smallestFirstShare']:.1%}"),
        ("first fit, random order", f"{report['firstFit']:,}", f"{report['firstFitShare']:.1%}"),
    ]
    title = f"{report['instances']:,} {report['family']} instances"
    return markdown_table((title, "tasks placed", "share"), rows)


def _growth(report: Report) -> str:
    rows = [
        [
            "base" if name == "base" else f"10 x {name}",
            *(f"{size[key]:,}" for key in ("nodes", "pods", "classes")),
            f"{report['seconds'][name]:.3f}",
            f"{report['ratios'].get(name, 1):.2f}",
        ]
        for name, size in report["sizes"].items()
    ]
    return markdown_table(("size", "nodes", "pods", "classes", "seconds", "ratio"), rows)


def _memory(report: Report) -> str:
    rows = [
        [name, f"{peak:,.0f}", "-" if report["drift"].get(name) is None else f"{report['drift'][name]:+.1%}"]
        for name, peak in report["peakMiB"].items()
    ]
    return markdown_table((f"process, {report['params']['times']:,} rounds", "peak MiB", "drift"), rows)


def _throughput(report: Report) -> str:
    rows = []
    for result in report.get("results", ()):
        rows.append(_throughput_row(result["label"], result["algorithm"], result.get("grpc")))
        if "warm" in result:
            rows.append(_throughput_row("… later rounds", result["warm"], None))
    headings = (
        "scenario",
        "algorithm, tasks/s",
        "round / solver within",
        "round / OR-Tools alone",
        "gRPC, tasks/s",
        "gap",
    )
    return markdown_table(headings, rows)


def _throughput_row(label: str, algorithm: Report, through: Report | None) -> list[str]:
    return [
        label,
        _number(algorithm["tasks_per_second"]),
        *(_number(algorithm.get(name), 2) for name in ("ratio", "bare")),
        _number(through["tasks_per_second"]) if through else "-",
        f"{algorithm['gap']:.3%}",
    ]


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


_KINDS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "throughput": ("Throughput", _throughput),
    "workloads": ("Workloads", _workloads),
    "comparison": ("Comparison", _comparison),
    "optimum": ("Tasks placed beside the optimum", _optimum),
    "growth": ("Growth", _growth),
    "memory": ("Memory", _memory),
}
