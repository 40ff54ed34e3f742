"""Compares the time of whole rounds with that of an earlier commit, because small slowdowns add up unnoticed.

Both trees run in processes of their own, which live as long as a scenario; they use the same interpreter and packages.
The earlier tree is a worktree of git. What is compared is processor seconds. Each release adds a file of results
(``results/*-drift.json``), so that the sum of all steps is seen.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import firmament
from benchmarks.environment import environment
from benchmarks.reports.sheets import Report, Sheet, number

ROOT = Path(__file__).resolve().parents[2]

BASE = "b583532b"
"""Commit that rounds are compared with: the fastest for plain tasks when the record began."""

ROUND = """
import json, sys, time
from benchmarks.algorithm import run_events
from benchmarks.scenario import Scenario, machine_events, task_events
from firmament.core.configuration import CoreConfiguration
from firmament.solvers.ortools_solver import OrToolsSolver

class Recording:
    def __init__(self):
        self.networks = []
    def solve(self, problem, *, time_limit=None):
        stated = problem.stated or problem
        if not any(each is stated for each in self.networks):
            self.networks.append(stated)
        return plain.solve(problem, time_limit=time_limit)

plain, scenario = OrToolsSolver(), Scenario(**json.loads(sys.argv[1]))
cluster, burst = machine_events(scenario), task_events(scenario)
for _ in sys.stdin:
    solver = Recording()
    run = run_events(cluster, burst, solver, CoreConfiguration())
    begin = time.process_time()
    for network in solver.networks:
        plain.solve(network)
    print(json.dumps([run.processor_seconds, time.process_time() - begin, run.placed]), flush=True)
"""
"""Program that each tree runs: one round per line of input. It uses only names that old trees have as well."""


class DriftError(Exception):
    """The earlier tree cannot be checked out, or does not run; the text is one line."""


def measure_drift(
    base: str, classes: Sequence[int], *, nodes: int, tasks: int, pairs: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return processor seconds of rounds in this tree and at commit ``base``, and medians of the ratios of pairs.

    ``toOrTools``: the round to OR-Tools alone on the networks of the round, in this tree. Raises ``DriftError``.
    """
    results = []
    with _worktree(base) as former:
        for count in classes:
            progress(f"{count} classes: {pairs} pairs")
            scenario = {"nodes": nodes, "tasks": tasks, "classes": count}
            before, after = _run_pairs((former, ROOT), scenario, pairs)
            results.append(
                {
                    "scenario": scenario,
                    "before": statistics.median(run[0] for run in before),
                    "after": statistics.median(run[0] for run in after),
                    "ratio": statistics.median(
                        new[0] / old[0] for old, new in zip(before, after, strict=True)
                    ),
                    "toOrTools": statistics.median(run[0] / run[1] for run in after),
                    "placed": after[-1][2],
                }
            )
    return {
        "kind": "drift",
        "environment": environment(),
        "version": firmament.__version__,
        "base": base,
        "pairs": pairs,
        "results": results,
    }


def drift_sheets(report: Report) -> list[Sheet]:
    """Return a line per number of classes."""
    rows = [
        [
            number(each["scenario"]["classes"]),
            number(each["before"] * 1e3, 1),
            number(each["after"] * 1e3, 1),
            number(each["ratio"], 3),
            number(each["toOrTools"], 2),
        ]
        for each in report["results"]
    ]
    scenario = report["results"][0]["scenario"]
    caption = (
        f"Version {report['version']} beside commit {report['base']}: a round of {scenario['tasks']:,} tasks on "
        f"{scenario['nodes']:,} half-full nodes, {report['pairs']} alternating pairs"
    )
    headings = ("classes", "ms there", "ms here", "ratio", "to OR-Tools alone")
    return [Sheet(caption, headings, rows, ["Ratios are medians of those of the pairs"])]


def _run_pairs(
    trees: tuple[Path, Path], scenario: dict[str, int], pairs: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Run rounds of both trees in turn, with alternating order; the first pair warms up."""
    found: tuple[list[list[float]], list[list[float]]] = ([], [])
    with ExitStack() as stack:
        ask = [stack.enter_context(_rounds(tree, scenario)) for tree in trees]
        for number in range(pairs + 1):
            for which in (0, 1) if number % 2 else (1, 0):
                run = ask[which]()
                if number:
                    found[which].append(run)
    return found


@contextmanager
def _rounds(tree: Path, scenario: dict[str, int]) -> Iterator[Callable[[], list[float]]]:
    """Start a process in a tree; yield a function that runs a round there."""
    command = [sys.executable, "-c", ROUND, json.dumps(scenario)]
    with subprocess.Popen(
        command, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def run() -> list[float]:
            stdin.write("run\n")
            stdin.flush()
            line = stdout.readline()
            if not line:
                raise DriftError(f"{tree}: its round ended with an error; see above")
            found: list[float] = json.loads(line)
            return found

        try:
            yield run
        finally:
            stdin.close()


@contextmanager
def _worktree(commit: str) -> Iterator[Path]:
    """Check out a commit beside this tree, with its entry points, and remove it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        added = subprocess.run(
            [*git, "add", "--quiet", "--detach", str(tree), commit],
            check=False,
            capture_output=True,
            text=True,
        )
        if added.returncode:
            raise DriftError(f"commit {commit} cannot be checked out: {' '.join(added.stderr.split())}")
        try:
            _write_entry_points(tree)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _write_entry_points(tree: Path) -> None:
    """Write the tree's entry points, so that its own cost models are found instead of the installed ones."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    info = tree / f"{project['name'].replace('-', '_')}.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {where}" for name, where in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")
