"""Results as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def print_throughput(report: dict[str, Any], console: Console) -> None:
    """One line per scenario: rates, time, certificate."""
    table = Table(title="Placements per second (medians)")
    for heading in (
        "scenario",
        "algorithm /s",
        "seconds",
        "solver s",
        "gRPC /s",
        "certified",
        "gap",
        "pending",
    ):
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for result in report["results"]:
        algorithm, grpc = result["algorithm"], result.get("grpc")
        table.add_row(
            result["label"],
            f"{algorithm['tasks_per_second']:,.0f}",
            f"{algorithm['seconds']:.3f}",
            f"{algorithm['stats']['solve_seconds']:.3f}",
            f"{grpc['tasks_per_second']:,.0f}" if grpc else "-",
            "yes" if algorithm["certified"] else "no",
            f"{algorithm['gap']:.3%}",
            str(algorithm["pending"]),
        )
    console.print(table)
    machine = report["environment"]
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Python {machine['python']}, "
        f"OR-Tools {machine['packages']['ortools']}"
    )
