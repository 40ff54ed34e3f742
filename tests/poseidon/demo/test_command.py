"""``poseidon demo`` as a process: it does what it says, and leaves nothing behind, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.preloaded import process_of, quick_python
from tests.support.waiting import wait_until

SECONDS = 60.0
SMALL = ("--nodes", "40", "--pods", "100")
MANY = "8000"
"""Pods enough that they are not done before what a test does to the processes."""


class Demo:
    """A running demo. Everything that it writes in temporary folders goes to ``folder``."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [quick_python(), "-m", "poseidon", "demo", *arguments],
            env={**os.environ, "TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.seen: list[psutil.Process] = []

    def line(self, text: str) -> str:
        """Wait for a line with ``text`` among the progress and return it; remember the processes of that moment."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if text in line:
                self.seen = self._children()
                return line
        raise AssertionError(f"it ended without saying {text!r}")

    def child(self, *words: str) -> psutil.Process:
        """Wait for the child whose command line ends like this, and return it."""
        return wait_for(lambda: self._find(words))

    def _find(self, words: tuple[str, ...]) -> psutil.Process | None:
        for child in self._children():
            try:
                if all(word in child.cmdline() for word in words):
                    return child
            except psutil.Error:
                continue
        return None

    def _children(self) -> list[psutil.Process]:
        try:
            return psutil.Process(process_of(self.process.pid)).children(recursive=True)
        except (ProcessLookupError, psutil.Error):
            return []  # it has ended

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; return status, output and what was printed as progress since the last ``line``."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err

    def left(self) -> list[str]:
        """Return what is left behind in temporary folders."""
        return sorted(path.name for path in self.folder.iterdir())


def wait_for(condition: Callable[[], object]):
    """Return the first true value of ``condition``."""
    return wait_until(condition, within=SECONDS)


def lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_ended(process: psutil.Process) -> None:
    wait_for(lambda: not lives(process))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    started: list[Demo] = []

    def start_demo(*arguments: str) -> Demo:
        started.append(Demo(tmp_path, *arguments))
        return started[-1]

    yield start_demo
    for demo in started:
        if demo.process.poll() is None:
            demo.process.kill()
        demo.process.communicate()
        for each in demo.seen:
            wait_until_ended(each)


def test_json_with_manifests_of_ones_own(start, tmp_path_factory):
    manifests = tmp_path_factory.mktemp("manifests") / "all.yaml"
    manifests.write_text(
        """
apiVersion: v1
kind: Node
metadata: {name: only}
status: {allocatable: {cpu: "1", memory: 1Gi, pods: "10"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  template: {spec: {containers: [{name: main, resources: {requests: {cpu: 400m}}}]}}
"""
    )
    demo = start("--nodes", "3", "--pods", "10", "--manifests", str(manifests), "-o", "json")
    status, out, err = demo.end()
    assert status == 0, err
    assert [line.split()[0] for line in err.splitlines()] == [
        "Starting",
        "Creating",
        "Starting",
        "Scheduling",
    ]
    assert demo.left() == []
    figures = json.loads(out)
    assert (figures["pods"], figures["bound"], figures["overcommittedNodes"]) == (10, 6, 0)
    assert figures["pending"] == [{"reason": "0/3 nodes are available: 3 Insufficient cpu.", "pods": 4}]
    assert figures["boundTwice"] == 0


@pytest.mark.parametrize(
    ("number", "stage", "whom"),
    [
        (signal.SIGINT, "Starting", "group"),
        # Both halves of it are held by others: the parent alone by the last one, this stage by the next.
        pytest.param(signal.SIGINT, "Scheduling", "parent", marks=pytest.mark.full),
        (signal.SIGINT, "Scheduling", "group"),
        (signal.SIGTERM, "Creating", "parent"),
    ],
)
def test_signals_end_it_cleanly(start, number, stage, whom):
    demo = start(*SMALL, "--pods", "2000")
    demo.line(stage)
    if whom == "parent":
        demo.process.send_signal(number)
    else:
        os.killpg(demo.process.pid, number)
    status, out, err = demo.end()
    assert status == 128 + number
    assert out == ""
    assert err.splitlines()[-1] == "poseidon demo: interrupted"
    assert "Traceback" not in err
    assert not any(map(lives, demo.seen))
    assert demo.left() == []


def test_a_second_signal_ends_it_at_once(start):
    demo = start("--nodes", "40", "--pods", MANY)
    demo.line("Scheduling")
    demo.process.send_signal(signal.SIGINT)
    wait_for(lambda: "stopping" in (demo.folder / demo.left()[0] / "poseidon.log").read_text())
    demo.process.send_signal(signal.SIGTERM)
    status, _, err = demo.end()
    assert status == 128 + signal.SIGINT
    assert "Traceback" not in err
    for each in demo.seen:
        wait_until_ended(each)
    assert demo.left() == []


@pytest.mark.parametrize(
    "words",
    [
        ("firmament", "serve"),
        # The same holds for any child: ``Stack.guard`` is about all of them, see ``test_stack.py``.
        pytest.param(("poseidon", "run"), marks=pytest.mark.full),
        pytest.param(("poseidon.testbed",), marks=pytest.mark.full),
    ],
)
def test_a_child_that_dies_is_one_line_and_the_tail_of_its_log(start, words):
    # Too many pods to be done before the kill.
    demo = start("--nodes", "40", "--pods", MANY)
    demo.line("Scheduling")
    demo.child(*words).kill()
    status, out, err = demo.end()
    assert status == 1
    assert out == ""
    names = {
        "firmament": "firmament serve",
        "poseidon": "poseidon run",
        "poseidon.testbed": "the simulated cluster",
    }
    lines = err.splitlines()
    told = next(index for index, line in enumerate(lines) if line.startswith("poseidon demo: "))
    assert lines[told] == f"poseidon demo: {names[words[0]]} was killed by SIGKILL too early"
    assert "Traceback" not in err
    [folder] = demo.left()
    assert lines[-1] == f"poseidon demo: logs are in {demo.folder / folder}"
    assert not any(map(lives, demo.seen))


def test_a_killed_demo_takes_its_children_along(start):
    demo = start("--nodes", "40", "--pods", MANY)
    demo.line("Scheduling")
    demo.process.kill()
    demo.end()
    assert demo.seen
    for each in demo.seen:
        wait_until_ended(each)


def test_it_gives_up_in_time(start):
    demo = start("--nodes", "40", "--pods", MANY, "--timeout", "1")
    status, _, err = demo.end()
    assert status == 1
    assert "after 1 s only" in err
    assert "Traceback" not in err


def test_it_binds_everything_prints_a_table_and_keeps_running_if_told_to(start):
    demo = start(*SMALL, "--keep")
    demo.line("keeps running until Ctrl-C")
    assert all(map(lives, demo.seen))
    demo.process.send_signal(signal.SIGINT)
    status, out, _ = demo.end()
    assert status == 0
    for text in (
        "112 of 112",
        "rounds",
        "pods per second",
        "p50",
        "p99",
        "nodes used",
        "overcommitted nodes",
    ):
        assert text in out
    assert not any(map(lives, demo.seen))
    assert demo.left() == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--manifests", "/nowhere"), "/nowhere: cannot be read"),
        (("--config", "/nowhere"), "/nowhere"),
        (("--nodes", "0"), "--nodes"),
    ],
)
def test_bad_input_is_told_before_anything_starts(start, arguments, told):
    demo = start(*arguments)
    status, out, err = demo.end()
    assert (status, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
    assert demo.left() == []
