"""Whatever a command can save, ``report`` renders: every command is run at a tiny size, and its file rendered."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import benchmarks
from benchmarks.__main__ import main
from benchmarks.judge.verdicts import Finding, PendingMessages, SeedResult, summary
from benchmarks.reports.report import KINDS
from benchmarks.reports.sheets import markdown
from tests.support.time_limits import stretch

pytestmark = pytest.mark.usefixtures("forked_programs")

TINY = {
    "burst": ["--nodes", "10", "--pods", "60", "--seeds", "1", "--only", "exactly the estimate: default"],
    "compare": ["basic", "--size", "small", "--nodes", "20", "--param", "pods=30", "--with", "pod by pod"],
    "consolidate": ["--machines", "8", "--pools", "2", "--seeds", "2"],
    "relieve": ["--machines", "8", "--seeds", "2"],
    "dashboard": ["--nodes", "20", "--pods", "30", "--classes", "2", "--pairs", "1", "--browsers", "3"],
    "drift": ["--base", "HEAD", "--nodes", "20", "--tasks", "20", "--classes", "2", "--pairs", "1"],
    "device-failover": ["--claims", "20", "--kills", "1", "--nodes", "4", "--simulated"],
    "expected-starts": [
        "--only",
        "parallel",
        "--scale",
        "0.07",
        "--seeds",
        "1",
        "--moments",
        "1",
        "--hours",
        "30",
        "30",
    ],
    "failover": ["--nodes", "5", "--ends", "1", "--rate", "20", "--keep", "50"],
    "fragmentation": ["--variant", "gpuspec10", "--part", "400", "--batch", "5"],
    "gangs": ["--nodes", "10", "--gangs", "4", "--size", "2", "--kinds", "2", "--room", "2", "--runs", "1"],
    "growth": ["--nodes", "10", "--pods", "10", "--classes", "2", "--runs", "1"],
    "hostile": [
        *("--nodes", "20", "--classes", "5", "--pods", "5", "--size", "2000", "--shape", "tolerations"),
        *("--hostile", "3", "--runs", "1"),
    ],
    "kueue-generators": [str(Path(__file__).with_name("small_generator.yaml"))],
    "large-day": ["--nodes", "10", "--hours", "1"],
    "lifetimes": ["--load", "0.6", "--seeds", "1", "--nodes", "10", "--days", "0.2"],
    "load": ["--nodes", "20", "--tasks", "30", "--classes", "3", "--pairs", "1", "--interval", "0.5"],
    "network": ["--applications", "2", "--groups", "2", "--nodes", "30", "--runs", "1"],
    "numa": ["--nodes", "20", "--pods", "20", "--classes", "2", "--runs", "1", "--pairs", "1"],
    "observability": [
        "--nodes",
        "20",
        "--tasks",
        "20",
        "--classes",
        "2",
        "--pairs",
        "1",
        "--end-to-end",
        "0",
    ],
    "optimum": ["--instances", "2"],
    "reschedule": ["--machines", "30", "--tasks", "200", "--classes", "5", "--runs", "1", "--small", "0"],
    "policies": ["--nodes", "20", "--tasks", "20", "--runs", "1", "--fill", "0.5", "--fill", "empty"],
    "preemption": ["--nodes", "20", "--preemptors", "10", "--classes", "2", "--runs", "1", "--pairs", "1"],
    "queues": ["--scale", "0.02", "--runs", "1", "--pairs", "1"],
    "requests": ["--count", "50", "--in-flight", "4", "--runs", "1"],
    "run": ["basic", "--size", "small", "--nodes", "20", "--param", "pods=30", "--runs", "1"],
    "shards": ["--nodes", "40", "--load", "0.5", "--shards", "2", "--classes", "3"],
    "sweep": ["--only", "machines, few tasks", "--most", "24", "--runs", "1"],
    "throughput": ["--nodes", "20", "--tasks", "20", "--classes", "2", "--runs", "1", "--no-grpc"],
    "topology": ["--nodes", "2000", "--pods", "40", "--groups", "2", "--others", "5", "--runs", "1"],
    "trees": ["--nodes", "40", "--rack", "10", "--zone", "2", "--scale", "0.01", "--runs", "1"],
}
"""Commands that are done at once, and what makes them so."""

LINES = {
    "burst": "| exactly the estimate: default | 0 / 0 | ",
    "compare": "| pod by pod | 20 nodes, 30 pods, ",
    "consolidate": "| with as many moves | ",
    "relieve": "| moves that are tried | ",
    "drift": "| 2 | ",
    "device-failover": "| devices given twice | 0 |",
    "expected-starts": "| parallel | ",
    "fragmentation": "| gpuspec10 | ",
    "gangs": "4 gangs of 2 in 2 kinds on 10 machines:",
    "growth": "| 10 x classes | 10 | 10 | 20 | ",
    "hostile": "| tolerations | ",
    "kueue-generators": "| small_generator | as Kueue | 9 | ",
    "large-day": "All reports are the same bytes",
    "lifetimes": "| 60 % | ",
    "shards": "| 50 % | 2 | ",
    "load": "20 machines and ",
    "network": "22 pods at once:",
    "numa": "| with numa_fit | ",
    "observability": "| rounds over gRPC | 1 | ",
    "reschedule": "| a round of everything | ",
    "optimum": "| 2 typical instances | tasks placed | share |",
    "dashboard": "| 1 | ",
    "failover": "| leader killed | ",
    "policies": "| trivial | ",
    "preemption": "Nobody to evict: ",
    "queues": "| deep | ",
    "requests": "| http, aiohttp | ",
    "run": "| basic (20 nodes, 30 pods, ",
    "sweep": "| 24 | ",
    "throughput": "| scenario | algorithm, tasks/s | ",
    "topology": "| 2 groups beside 5 pods | ",
    "trees": "| 5 x 2 x 3 | ",
}
"""The beginning of a line of each command's tables."""

WITH_PROCESSES = {"end-to-end", "head-to-head", "lone-pod", "memory", "start"}
"""Commands that start whole stacks: their tables are looked at where these run, or below."""

OF_OTHERS = {"small", "full"}
"""Commands that save, into a folder, what others save."""

WITH_BINARIES = {"job-admission", "judge"}
"""Commands that need binaries of others: tables are looked at in `test_job_admission`, and below."""


def test_every_command_that_saves_is_rendered_here():
    saving = {
        name
        for name, command in main.commands.items()
        if any(param.name == "save" for param in command.params)
    }
    assert saving == TINY.keys() | WITH_PROCESSES | OF_OTHERS | WITH_BINARIES
    assert LINES.keys() == TINY.keys()


SLOW = {
    "dashboard",
    "device-failover",
    "drift",
    "failover",
    "network",
    "observability",
    "reschedule",
    "topology",
}
"""Commands that take seconds: that what they save has tables is held by the last test but one."""


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=[pytest.mark.full] if command in SLOW else []) for command in TINY],
)
def test_what_a_command_saves_is_rendered(command, tmp_path):
    if command == "requests" and shutil.which("openssl") is None:
        pytest.skip("openssl makes the server's certificate")
    file = tmp_path / "saved.json"
    arguments = TINY[command]
    if command == "failover":  # a bridge that waits for the processor must not lose its Lease for that
        arguments = [*arguments, "--lease", f"{stretch(2):.0f}"]
    done = CliRunner().invoke(main, [command, *arguments, "--save", str(file)])
    assert done.exit_code == 0, done.output
    rendered = CliRunner().invoke(main, ["report", str(file)])
    assert (rendered.exit_code, rendered.stderr) == (0, "")
    lines = rendered.stdout.splitlines()
    assert lines[0] == f"### {KINDS[json.loads(file.read_text())['kind']].title}"
    assert any(line.startswith(LINES[command]) for line in lines), rendered.stdout
    assert lines[-1].endswith("(`saved.json`).")
    assert all(rows_are_as_wide_as_headings(rendered.stdout))


def rows_are_as_wide_as_headings(text: str) -> Iterator[bool]:
    """Yield for each row of each table whether it has as many cells as the first."""
    width = None
    for line in text.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        cells = line.replace("\\|", "").count("|")
        width = width or cells
        yield cells == width


def kinds_in_the_source() -> set[str]:
    """What is named as the kind of a dict that also has an environment, or is about to get one."""
    found = set()
    for path in Path(benchmarks.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Dict):
                continue
            keys = [key.value if isinstance(key, ast.Constant) else key for key in node.keys]
            if "kind" in keys and ("environment" in keys or None in keys):
                value = node.values[keys.index("kind")]
                assert isinstance(value, ast.Constant), f"{path}:{node.lineno}: name the kind here"
                found.add(str(value.value))
    return found


def test_every_kind_that_the_harness_names_has_tables():
    assert kinds_in_the_source() == KINDS.keys()


def test_verdicts_of_a_judge_have_tables():
    told = [
        PendingMessages(
            "ns/a",
            "0/1 nodes are available: 1 Insufficient cpu.",
            "0/1 nodes are available: 1 Too many pods.",
        )
    ]
    miss = Finding(7, "miss", "ns/b", "n0", "1 node(s) reserved for a pod that has waited longer", "")
    results = [SeedResult(7, "plan", bound=3, pending=2, findings=[miss], told=told)]
    lines = markdown(KINDS["judge"].sheets(summary(results))).splitlines()
    assert "| bindings judged | 3 |" in lines
    assert "| pending pods it binds: reservation | 1 |" in lines
    assert "| messages equal | 0.00% of 1 |" in lines
