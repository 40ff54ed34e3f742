"""Prints results as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.reports.core import growth_memory, growth_memory_headings


def print_workloads(report: dict[str, Any], console: Console) -> None:
    """Print a line per workload, stage and measured part."""
    table = Table(title="Workloads (median runs)")
    for heading in (
        "workload",
        "stage",
        "pods/s",
        "seconds",
        "bound",
        "waiting",
        "p50 / p99",
        "certified",
        "gap",
        "broken rules",
    ):
        left = heading in ("workload", "stage")
        table.add_column(heading, justify="left" if left else "right", no_wrap=left)
    for result in report["results"]:
        for part in result["measured"]:
            rounds, latency = part["rounds"], part["latencySeconds"]
            table.add_row(
                result["workload"] + (f": {part['name']}" if len(result["measured"]) > 1 else ""),
                part.get("scheduler", result["stage"]),
                f"{part['podsPerSecond'] or 0:,.0f}",
                f"{part['seconds']:.3f}",
                f"{part['bound']:,}",
                f"{part['waiting']:,}",
                " / ".join(
                    "-" if latency[each] is None else f"{latency[each]:.2f}" for each in ("p50", "p99")
                ),
                f"{rounds['certified']}/{rounds['count']}" if rounds["count"] else "-",
                "-" if rounds["gap"] is None else f"{rounds['gap']:.3%}",
                _format_broken(part.get("brokenRules")),
            )
    console.print(table)
    for line in _iter_shares(report["results"]):
        console.print(line, highlight=False)
    print_environment(report["environment"], console)


def _iter_shares(results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield lines per part that a binding-only client has bound as well: the n-th runs of both are a pair."""
    best = {
        (str(result["workload"]), str(result["params"]), part["name"]): part
        for result in results
        for part in result["measured"]
        if part.get("scheduler") == "bindings only"
    }
    for result in results:
        for part in result["measured"]:
            most = best.get((str(result["workload"]), str(result["params"]), part["name"]))
            if not most or part.get("scheduler") != "poseidon":
                continue
            shares = compute_paired_shares(part["allPodsPerSecond"], most["allPodsPerSecond"])
            if not shares:
                continue
            server = part.get("server") or "as fast as it can be"
            pairs = (
                f"median of {len(shares)} pairs, {shares[0]:.0%} to {shares[-1]:.0%}; " if shares[1:] else ""
            )
            yield (
                f"{result['workload']}, {part['name']}: {median(shares):.0%} of the rate of a client that only posts "
                f"bindings; {pairs}server: {server}; first binding after {part['firstBoundSeconds'] or 0:.2f} s, "
                f"longest pause {part['longestPauseSeconds']:.2f} s"
            )
            rounds = f"; {part['verified']['rounds']} rounds" if part["verified"]["rounds"] else ""
            yield f"  processor seconds: {_processor_seconds(part)}{rounds}"
            if events := part["verified"]["events"]:
                yield (
                    f"  Scheduled events within {events['withinSeconds']:.0f} s: {events['share'] or 0:.2%}, the last "
                    f"after {events['worstSeconds'] or 0:.0f} s"
                )
            yield f"  of the other's run: {_processor_seconds(most)}"


def compute_paired_shares(rates: Sequence[float | None], others: Sequence[float | None]) -> list[float]:
    """Return for each of ``rates`` its share of its counterpart among ``others``, sorted; None is left out."""
    return sorted(
        rate / other for rate, other in zip(rates, others, strict=True) if rate is not None and other
    )


def _processor_seconds(part: dict[str, Any]) -> str:
    """Return medians over the runs, by kind of process."""
    runs: list[dict[str, float]] = part["allCpuSeconds"]
    names = dict.fromkeys(name for run in runs for name in run)
    return ", ".join(f"{name} {median(run.get(name, 0.0) for run in runs):.2f}" for name in names)


def _format_broken(rules: dict[str, int] | None) -> str:
    if rules is None:
        return "-"
    return ", ".join(f"{name} {count:,}" for name, count in rules.items()) or "none"


def print_comparison(report: dict[str, Any], console: Console) -> None:
    """Print a line per comparator: its time, and the cost of its placement, both relative to the core's."""
    for result in report["results"]:
        params = ", ".join(f"{key} {value:,}" for key, value in result["params"].items())
        table = Table(title=f"{result['workload']}: {params}")
        for heading in (
            "who",
            "tasks/s",
            "CPU seconds",
            "times slower",
            "cost",
            "unplaced",
            "nodes used",
            "spread",
        ):
            table.add_column(
                heading, justify="left" if heading == "who" else "right", no_wrap=heading == "who"
            )
        for each in result["results"]:
            if "notMeasured" in each:
                table.add_row(each["name"], "-", "-", "-", "-", "-", "-", each["notMeasured"])
                continue
            quality = each["quality"]
            table.add_row(
                each["name"],
                f"{each['tasksPerSecond']:,.0f}",
                f"{each['seconds']:.3f}",
                f"{each['timesSlower']:.1f}" if "timesSlower" in each else "",
                f"{each['costRatio']:.4f}" if each.get("costRatio") else f"{quality['cost']:,}",
                f"{quality['unplaced']:,}",
                f"{quality['machines_used']:,}",
                f"{quality['imbalance']:.2f}",
            )
        console.print(table)
    print_environment(report["environment"], console)


def print_optimum(report: dict[str, Any], console: Console) -> None:
    """Return how many tasks were placed, by whom."""
    table = Table(
        title=f"{report['instances']:,} {report['family']} instances, {report['tasks']:,} tasks",
        show_header=False,
    )
    table.add_column()
    table.add_column(justify="right")
    table.add_row("optimum (CP-SAT)", f"{report['optimum']:,}")
    table.add_row("this scheduler", f"{report['placed']:,} ({report['share']:.2%})")
    table.add_row("first fit, random order", f"{report['firstFit']:,} ({report['firstFitShare']:.2%})")
    small = f"{report['smallestFirst']:,} ({report['smallestFirstShare']:.2%})"
    table.add_row("first fit, smallest first", small)
    table.add_row("instances below the optimum", f"{report['instancesBelowOptimum']:,}")
    table.add_row("largest loss, tasks", f"{report['largestLoss']:,}")
    table.add_row("not proved in time", f"{report['unproved']:,}")
    console.print(table)
    print_environment(report["environment"], console)


def print_growth(report: dict[str, Any], console: Console) -> None:
    """Print a line per size."""
    table = Table(
        *("what", "nodes", "pods", "classes", "seconds", "ratio", "exponent"),
        *growth_memory_headings(report),
        title="Growth of a round",
    )
    for name, size in report["sizes"].items():
        table.add_row(
            "base" if name == "base" else f"10 x {name}",
            *(f"{size[key]:,}" for key in ("nodes", "pods", "classes")),
            f"{report['seconds'][name]:.3f}",
            *(
                f"{report[kind][name]:.2f}" if name in report[kind] else ""
                for kind in ("ratios", "exponents")
            ),
            *growth_memory(report, name),
        )
    console.print(table)
    print_environment(report["environment"], console)


def print_memory(report: dict[str, Any], console: Console) -> None:
    """Print a line per kind of process."""
    rounds = report["params"]["times"]
    table = Table(
        *("process", "peak MiB", "drift", "threads", "descriptors"),
        title=f"Memory over {rounds:,} rounds, {report['podsBound']:,} pods",
    )
    for name, peak in report["peakMiB"].items():
        change = report["drift"].get(name)
        counts = [" to ".join(map(str, report[kind].get(name, ()))) for kind in ("threads", "descriptors")]
        table.add_row(name, f"{peak:,.0f}", "" if change is None else f"{change:+.1%}", *counts)
    console.print(table)
    print_environment(report["environment"], console)


def print_environment(machine: dict[str, Any], console: Console) -> None:
    """Print in one line on which machine the results were measured."""
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Python {machine['python']}, "
        f"OR-Tools {machine['packages']['ortools']}"
    )
