"""``firmament serve`` and ``firmament submit`` as processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml
from click.testing import CliRunner, Result

from firmament.cli import main
from tests.firmament.solvers.test_process_solver import wait_for
from tests.support.preloaded import process_of, quick_python
from tests.support.time_limits import stretch

SECONDS = 60.0
FIRMAMENT = ("-m", "firmament")


@dataclass
class Serving:
    process: subprocess.Popen[str]
    address: str
    log_file: Path

    def log(self) -> str:
        return self.log_file.read_text()

    def children(self) -> list[psutil.Process]:
        return psutil.Process(process_of(self.process.pid)).children(recursive=True)

    def finish(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal and return exit status and what was logged."""
        self.process.send_signal(number)
        self.process.wait(timeout=SECONDS)
        return self.process.returncode, self.log()


@contextmanager
def serving(*options: str) -> Iterator[Serving]:
    """Run a server that logs to a file: nobody reads a pipe while it serves, and a full one would stop it."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        process = subprocess.Popen(
            [quick_python(), *FIRMAMENT, "serve", "--listen", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        yield from _until_ended(process, Path(log.name))


def _until_ended(process: subprocess.Popen[str], log_file: Path) -> Iterator[Serving]:
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), line
        yield Serving(process, line.removeprefix("listening on ").strip(), log_file)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving() as server:
        yield server


def run(*arguments: str) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, arguments)


def run_apart(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that starts to serve, in a process of its own."""
    return subprocess.run(
        [quick_python(), *FIRMAMENT, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
    )


def submit(target: str, *options: str) -> dict[str, object]:
    done = run("submit", "--target", target, "-o", "json", *options)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    report: dict[str, object] = json.loads(done.stdout)
    return report


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# --- serve ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_in_order(number):
    with serving() as server:
        assert wait_for(lambda: len(server.children()) == 2)
        workers = server.children()
        started = time.monotonic()
        status, log = server.finish(number)
        assert time.monotonic() - started < stretch(5)
        assert status == 0
        assert "Traceback" not in log
        assert "stopped" in log
        assert wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_workers_do_not_outlive_a_killed_server():
    with serving() as server:
        assert wait_for(lambda: len(server.children()) == 2)
        workers = server.children()
        status, log = server.finish(signal.SIGKILL)
        assert status == -signal.SIGKILL
        assert "leaked" not in log
        assert wait_for(lambda: not any(_lives(worker) for worker in workers))


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_metrics_are_served():
    port = free_port()
    with serving("--metrics", f"127.0.0.1:{port}") as server:
        submit(server.address, "--nodes", "3", "--tasks", "5", "--no-samples")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SECONDS) as answer:
            text = answer.read().decode()
    assert 'firmament_round_tasks_total{outcome="placed"} 5.0' in text
    assert 'firmament_round_duration_seconds_count{stage="solve"}' in text
    assert 'firmament_build_info{version="' in text


def test_an_address_in_use_is_one_line(server: Serving):
    done = run_apart("serve", "--listen", server.address)
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        done.stderr == f"cannot listen on {server.address}: address already in use; choose another address\n"
    )


@pytest.mark.parametrize("address", ["9090", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "::1:80"])
@pytest.mark.parametrize("option", ["--listen", "--metrics"])
def test_a_bad_address_is_one_line(address, option):
    done = run("serve", option, address)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert address in done.stderr


def test_an_unknown_host_is_one_line():
    done = run_apart("serve", "--listen", "no.such.host.invalid:1")
    assert done.returncode == 2
    assert done.stderr.startswith("cannot listen on no.such.host.invalid:1: ")
    assert done.stderr.count("\n") == 1


def test_a_bad_configuration_is_one_line_per_fault(tmp_path: Path):
    path = tmp_path / "bad.yaml"
    path.write_text("apiVersion: firmament.io/v1alpha1\nkind: Wrong\npolcy: {}\n")
    done = run("serve", "--config", str(path))
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        f"{path}: kind: must be 'SchedulerConfiguration', not 'Wrong'",
        f"{path}: polcy: is not a known key; did you mean policy?",
    ]


def test_the_effective_configuration_is_printed(tmp_path: Path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\npolicy: {name: trivial, weight: 3}\n"
    )
    done = run("serve", "--config", str(path), "--print-config")
    assert (done.exit_code, done.stderr) == (0, "")
    printed = yaml.safe_load(done.stdout)
    assert printed["policy"] == {"name": "trivial", "weight": 3, "args": {}}
    assert printed["schedulerNames"] == ["poseidon"]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("serve", ["--nonsense"]),
        ("nonsense", []),
        ("submit", []),
        ("serve", ["--log-level", "x"]),
        ("get", ["tasks", "--timeout", "0"]),
    ],
)
def test_bad_usage_is_one_line(command, arguments):
    done = run(command, *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("firmament")
    assert command in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"), [("--listen", "nonsense"), ("--metrics", "x:0"), ("--listen", "host:1:2")]
)
def test_a_bad_address_names_the_option(option, value):
    done = run("serve", option, value)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{option}: {value!r}")
    assert done.stderr.count("\n") == 1


def test_version_and_help():
    assert run("--version").stdout.startswith("firmament, version ")
    for arguments in (["--help"], ["serve", "--help"], ["submit", "-h"]):
        done = run(*arguments)
        assert done.exit_code == 0
        assert "Usage: " in done.stdout


# --- submit ---------------------------------------------------------------------------------------------------


def test_all_at_once(server: Serving):
    report = submit(server.address, "--nodes", "200", "--tasks", "1000", "--classes", "20", "--fill", "0.5")
    assert report["placed"] == 1000
    assert (report["unplaced"], report["overcommitted"], report["duplicates"]) == (0, 0, 0)
    assert report["complete"] is True
    assert isinstance(report["latency_p99_ms"], float)


def test_at_a_rate_for_a_while(server: Serving):
    report = submit(server.address, "--nodes", "20", "--rate", "400", "--duration", "1", "--cluster", "rated")
    assert (report["tasks"], report["placed"]) == (400, 400)
    assert report["overcommitted"] == 0
    assert 0.8 < float(str(report["seconds"])) < 20


def test_tasks_that_end_make_room(server: Serving):
    """One machine with room for ten slots serves thirty tasks, one after another."""
    options = (
        "--nodes",
        "1",
        "--tasks",
        "300",
        "--cpu",
        "1000m",
        "--task-seconds",
        "0.02",
        "--cluster",
        "short",
    )
    report = submit(server.address, *options)
    assert (report["placed"], report["finished"], report["overcommitted"]) == (300, 300, 0)
    assert int(str(report["rounds"])) > 1


def test_a_slow_solver_is_waited_for(tmp_path: Path):
    """That a task fits nowhere may be about to change: rounds come long after others have ended and made room."""
    config = tmp_path / "slow.yaml"
    config.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\nround: {batchingWindow: 1200ms}\n"
    )
    options = ("--nodes", "1", "--tasks", "60", "--cpu", "1000m", "--task-seconds", "0.01")
    with serving("--config", str(config)) as slow:
        report = submit(slow.address, *options)
    assert (report["placed"], report["finished"], report["complete"]) == (60, 60, True)


def test_what_does_not_fit_is_said(server: Serving):
    options = ("--nodes", "2", "--tasks", "40", "--cpu", "4000m", "--cluster", "full")
    report = submit(server.address, *options)
    assert (report["placed"], report["unplaced"], report["overcommitted"]) == (8, 32, 0)
    assert report["unplaced_reasons"] == {"0/2 nodes are available: 2 Insufficient cpu.": 32}


def test_nothing_to_do(server: Serving):
    report = submit(server.address, "--nodes", "0", "--tasks", "0", "--cluster", "empty")
    assert (report["placed"], report["latency_p50_ms"]) == (0, None)
    without_machines = submit(server.address, "--nodes", "0", "--tasks", "3", "--cluster", "empty")
    assert (without_machines["placed"], without_machines["unplaced"]) == (0, 3)


def test_the_table(server: Serving):
    done = run("submit", "--target", server.address, "--nodes", "5", "--tasks", "5", "--cluster", "table")
    assert done.exit_code == 0
    for text in (
        "tasks placed",
        "placements per second",
        "latency p50 / p90 / p99",
        "machines overcommitted",
    ):
        assert text in done.stdout


def test_an_unreachable_target_is_one_line():
    done = run(
        "submit",
        "--target",
        f"127.0.0.1:{free_port()}",
        "--nodes",
        "1",
        "--tasks",
        "1",
        "--connect-timeout",
        "0.3",
    )
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "no solver answers there" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--tasks", "-1"],
        ["--tasks", "5", "--cpu", "5x"],
        ["--tasks", "5", "--cpu", "0m"],
        ["--tasks", "5", "--memory", "2Gi-1Gi"],
        ["--tasks", "5", "--fill", "1.5"],
        ["--tasks", "5", "--sizes", "a-b"],
        ["--tasks", "5", "--target", "nowhere"],
        ["--tasks", "5", "--duration", "5"],
        [],
    ],
)
def test_bad_input_is_one_line(options):
    done = run("submit", "--nodes", "1", *options)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


def test_a_lost_solver_is_one_line():
    with serving() as server:
        client = subprocess.Popen(
            [
                quick_python(),
                *FIRMAMENT,
                "submit",
                "--target",
                server.address,
                "--nodes",
                "3",
                "--rate",
                "10",
                "--duration",
                "60",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert wait_for(lambda: "snapshot complete" in server.log())
            os.kill(server.process.pid, signal.SIGKILL)
            _, errors = client.communicate(timeout=SECONDS)
        finally:
            if client.poll() is None:
                client.kill()
                client.communicate()
        assert client.returncode == 1
        assert errors.count("\n") == 1
        assert errors.startswith(server.address)
