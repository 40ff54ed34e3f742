"""Renders saved results as Markdown, for documents: tables of every kind of result, and the machine they are from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.device_failover.measure import device_failover_sheets
from benchmarks.expected_starts.tables import expected_starts_sheets
from benchmarks.fragmentation.summary import fragmentation_sheets
from benchmarks.job_admission.measure import job_admission_sheets
from benchmarks.processes.lone_pod import lone_pod_sheets
from benchmarks.quality.kueue_generators import generator_sheets
from benchmarks.quality.large_day import day_sheets
from benchmarks.quality.lifetimes import lifetimes_sheets
from benchmarks.quality.shards import shards_sheets
from benchmarks.reports import core, models, processes
from benchmarks.reports.charts import sections
from benchmarks.reports.head_to_head import head_to_head_sheets
from benchmarks.reports.sheets import Report, Sheet, markdown
from benchmarks.reports.trees import trees_sheets
from benchmarks.rounds.drift import drift_sheets
from poseidon.ui.report import PageReport, Section, Table, report_page


class ResultError(ValueError):
    """A file that is no result of this harness; the text names the file and the fault."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of result: its heading, and the function that makes its tables."""

    title: str
    sheets: Callable[[Report], list[Sheet]]


KINDS: dict[str, Kind] = {
    "throughput": Kind("Throughput", core.throughput_sheets),
    "policies": Kind("Policies", core.policies_sheets),
    "workloads": Kind("Workloads", core.workloads_sheets),
    "comparison": Kind("Comparison", core.comparison_sheets),
    "optimum": Kind("Tasks placed beside the optimum", core.optimum_sheets),
    "growth": Kind("Growth", core.growth_sheets),
    "wide-growth": Kind("Growth from small to very large", core.wide_growth_sheets),
    "drift": Kind("Beside an earlier commit", drift_sheets),
    "sweep": Kind("Sizes", core.sweep_sheets),
    "judge": Kind("Verdicts of kube-scheduler", processes.judge_sheets),
    "hostile": Kind("Hostile pods", core.hostile_sheets),
    "hostile-processes": Kind("Hostile pods, both programs", processes.hostile_sheets),
    "fragmentation": Kind("GPUs given away", fragmentation_sheets),
    "shards": Kind("Several solvers", shards_sheets),
    "large-day": Kind("A simulated day of a large cluster", day_sheets),
    "kueue-generators": Kind("Kueue's generators", generator_sheets),
    "lifetimes": Kind("Nodes that stay empty", lifetimes_sheets),
    "gangs": Kind("Gangs", models.gangs_sheets),
    "trees": Kind("Trees of groups", trees_sheets),
    "queues": Kind("Queues", models.queues_sheets),
    "consolidation": Kind("Machines that could be emptied", models.consolidation_sheets),
    "relief": Kind("Hot machines relieved", models.relief_sheets),
    "rescheduling": Kind("Moves that lower costs", models.rescheduling_sheets),
    "preemption": Kind("Preemption", models.preemption_sheets),
    "topology": Kind("Groups on trees", models.topology_sheets),
    "network": Kind("Network", models.network_sheets),
    "numa": Kind("NUMA", models.numa_sheets),
    "load": Kind("Measured use", models.load_sheets),
    "burst": Kind("Bursts beside late metrics", models.burst_sheets),
    "end-to-end": Kind("End to end", processes.end_to_end_sheets),
    "head-to-head": Kind("Head to head with kube-scheduler", head_to_head_sheets),
    "lone-pod": Kind("A pod that comes alone", lone_pod_sheets),
    "failover": Kind("Failover", processes.failover_sheets),
    "job-admission": Kind("Suspended Jobs admitted by Kueue and by this project", job_admission_sheets),
    "device-failover": Kind("Devices while processes are killed", device_failover_sheets),
    "start": Kind("Start", processes.start_sheets),
    "requests": Kind("Small requests", processes.requests_sheets),
    "dashboard": Kind("Dashboard", processes.dashboard_sheets),
    "observability": Kind("Metrics and traces", processes.observability_sheets),
    "expected-starts": Kind("Expected starts", expected_starts_sheets),
    "memory": Kind("Memory", processes.memory_sheets),
}
"""Every kind that commands emit, in the order of the document. Without an entry here a command cannot emit."""


def load_results(paths: Iterable[Path]) -> list[Report]:
    """Return results from files, and from all ``*.json`` of folders, sorted by name. Raises ``ResultError``."""
    files: list[Path] = []
    for path in paths:
        files.extend(sorted(path.glob("*.json")) if path.is_dir() else [path])
    reports = []
    for file in files:
        try:
            report = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ResultError(f"{file}: cannot be read: {error}") from None
        if not isinstance(report, dict) or not isinstance(report.get("environment"), dict):
            raise ResultError(f"{file}: no result of this harness; it has no environment")
        if not isinstance(report.get("kind"), str):
            raise ResultError(f"{file}: a result of no kind; measure it again")
        report["file"] = file.name
        reports.append(report)
    return reports


def render(reports: Sequence[Report]) -> str:
    """Return Markdown for results of known kinds; see ``unknown`` for others. Raises ``ResultError``."""
    sections = []
    for name, kind in KINDS.items():
        found = _merge([report for report in reports if report["kind"] == name])
        if found:
            sections.append(f"### {kind.title}\n\n" + "\n\n".join(_write(each, kind) for each in found))
    return "\n\n".join(sections) + "\n" if sections else ""


def as_page(reports: Sequence[Report]) -> str:
    """Return a self-contained web page of pictures and tables. Raises ``ResultError``."""
    shown = [*sections(reports).values()]
    for name, kind in KINDS.items():
        for each in _merge([report for report in reports if report["kind"] == name]):
            with _complete(each):
                shown += (_section(kind.title, sheet, _machine(each)) for sheet in kind.sheets(each))
    notes = ["Compare figures within one run alone; machines differ, and so do their neighbours."]
    return report_page(PageReport("Benchmarks", (), notes, shown))


def _section(title: str, sheet: Sheet, machine: str) -> Section:
    caption = f"{title}: {sheet.caption}" if sheet.caption else title
    table = Table(sheet.headings, sheet.rows, len(sheet.headings) - 1)
    return Section(caption, None, table, [*(f"{note}." for note in sheet.notes), machine])


def unknown(reports: Iterable[Report]) -> list[str]:
    """Return one line for each result of a kind without tables."""
    return [
        f"{report['file']}: results of kind {report['kind']!r} are not known; use the version that saved it"
        for report in reports
        if report["kind"] not in KINDS
    ]


def _merge(reports: Sequence[Report]) -> list[Report]:
    """Return one report per kind and machine: reports that are lists of results are joined."""
    merged: list[Report] = []
    for report in reports:
        same = next((each for each in merged if each["environment"] == report["environment"]), None)
        if same is None or not isinstance(report.get("results"), list):
            merged.append(dict(report))
        else:
            same["results"] = [*same["results"], *report["results"]]
            same["file"] += f", {report['file']}"
    return merged


def _write(report: Report, kind: Kind) -> str:
    """Return the tables, followed by the machine."""
    with _complete(report):
        return f"{markdown(kind.sheets(report))}\n\n{_machine(report)}"


def _machine(report: Report) -> str:
    machine = report["environment"]
    packages = machine.get("packages", {})
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Python {machine['python']}, OR-Tools {packages.get('ortools', '?')} (`{report['file']}`)."
    )


@contextmanager
def _complete(report: Report) -> Iterator[None]:
    """Raise ``ResultError`` if a result lacks a field that its kind needs."""
    try:
        yield
    except KeyError as error:
        raise ResultError(
            f"{report['file']}: a result of kind {report['kind']!r} without {error}; measure it again"
        ) from error
