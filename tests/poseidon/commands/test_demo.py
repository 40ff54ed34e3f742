"""`poseidon demo` around the demonstration itself: input, report, logs and signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from poseidon.demo.report import Summary
from poseidon.demo.run import DemoTimeoutError
from poseidon.demo.verification import Occupancy
from poseidon.testbed.harness.child import ChildDiedError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers():
    """The command ignores signals once it has ended, as its process is about to end."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def receive(number: int) -> None:
    """Get a signal, and wait for what it does."""
    os.kill(os.getpid(), number)
    await asyncio.Event().wait()


class Demonstrations:
    """Stands in for the processes of a demonstration. ``ends``: what happens instead of a result."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.options: Any = None
        self.workload: Any = None
        self.twice = 0
        self.ends: Any = None
        self.went_on = 0

    @asynccontextmanager
    async def demonstrate(self, workload, options, display, *, clock):
        self.workload, self.options = workload, options
        self.folders.append(options.folder)
        assert options.folder.is_dir()
        with display:
            display.stage("Starting")
        assert clock() <= clock()
        if self.ends is not None:
            await self.ends()
        occupancy = Occupancy(3, 2, 1, 0, (), ())
        summary = Summary(2, 2, self.twice, 1, 1.0, 0.1, 0.2, occupancy)

        async def go_on() -> None:
            self.went_on += 1
            await receive(signal.SIGTERM)

        stack = SimpleNamespace(kubeconfig=options.folder / "kubeconfig")
        yield SimpleNamespace(summary=summary, stack=stack, go_on=go_on)


@pytest.fixture
def demonstrations(monkeypatch):
    made = Demonstrations()
    monkeypatch.setattr("poseidon.demo.run.demonstrate", made.demonstrate)
    return made


def test_a_result_is_printed_and_nothing_is_left(run, demonstrations):
    found = run("demo", "--nodes", "3", "--pods", "2", "-o", "json")
    assert found.json["bound"] == 2
    assert len(demonstrations.workload.nodes) == 3
    assert not demonstrations.folders[0].exists()
    assert "Starting ..." in found.stderr
    table = run("demo", "--nodes", "3", "--pods", "2", "--timeout", "7")
    assert "pods bound" in table.stdout
    assert (demonstrations.options.timeout, demonstrations.options.page) == (7.0, False)
    assert demonstrations.options.config is None


def test_a_result_that_is_not_sound_ends_with_1_and_leaves_the_logs(run, demonstrations):
    demonstrations.twice = 1
    found = run("demo", "--nodes", "3", "--pods", "2")
    assert found.status == 1
    [folder] = demonstrations.folders
    assert found.stderr.endswith(f"poseidon demo: logs are in {folder}\n")
    assert folder.is_dir()
    folder.rmdir()


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (DemoTimeoutError("after 1 s only 3 of 4"), ["poseidon demo: after 1 s only 3 of 4"]),
        (ChildDiedError("bridge", 3, "last words"), ["last words"]),
    ],
)
def test_a_fault_is_a_line_with_what_the_process_said_last(run, demonstrations, error, lines):
    async def fail():
        raise error

    demonstrations.ends = fail
    found = run("demo", "--nodes", "3", "--pods", "2")
    assert found.status == 1
    assert found.stdout == ""
    assert all(any(line in each for each in found.stderr.splitlines()) for line in lines)
    assert found.stderr.splitlines()[-1].startswith("poseidon demo: logs are in ")
    demonstrations.folders[0].rmdir()


def test_what_is_kept_runs_until_a_signal(run, demonstrations):
    found = run("demo", "--nodes", "3", "--pods", "2", "--keep")
    assert (found.status, demonstrations.went_on) == (0, 1)
    assert "Everything keeps running until Ctrl-C; look around with\n  kubectl --kubeconfig " in found.stderr
    assert "interrupted" not in found.stderr
    found = run("demo", "--nodes", "3", "--pods", "2", "--ui")
    assert (found.status, demonstrations.went_on) == (0, 2)
    assert demonstrations.options.page is True


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_the_work_ends_it(run, demonstrations, number):
    demonstrations.ends = lambda: receive(number)
    found = run("demo", "--nodes", "3", "--pods", "2", "--keep")
    assert found.status == 128 + number
    assert found.stderr.endswith("poseidon demo: interrupted\n")
    assert not demonstrations.folders[0].exists()


def test_input_that_cannot_be_used_starts_nothing(run, demonstrations, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": 5}))
    config = tmp_path / "config.yaml"
    config.write_text("polcy: 1")
    for arguments in (["--manifests", broken], ["--manifests", tmp_path / "none"], ["--config", config]):
        found = run("demo", *arguments)
        assert (found.status, found.stdout) == (2, "")
        assert found.stderr
    assert demonstrations.folders == []
