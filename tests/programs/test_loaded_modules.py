"""What fast commands must not load: packages that cost more to import than the command takes to do its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from poseidon.testbed.kubeconfig import write_kubeconfig

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "01-online-boutique"
RUN = """
import atexit, json, os, sys
program = sys.argv[1]
atexit.register(lambda: os.write(3, json.dumps(sorted(sys.modules)).encode()))
sys.argv = sys.argv[1:]
__import__(f"{program}.cli", fromlist=["main"]).main()
"""
EVER = (
    "grpc",
    "aiohttp",
    "jinja2",
    "matplotlib",
    "networkx",
    "scipy",
    "kubernetes",
    "prometheus_client",
    "uvloop",
)
"""Packages that no command needs that works on files."""

HELP = (*EVER, "asyncio", "google", "msgspec", "numpy", "ortools", "pydantic", "rich", "yaml")


def load(tmp_path: Path, *arguments: str, status: int = 0) -> set[str]:
    """Return the packages that a command has loaded by its end, by the first part of their names."""
    with (tmp_path / "modules").open("wb") as told:
        words = [sys.executable, "-c", RUN, *arguments]
        give = f"import os,sys; os.dup2({told.fileno()}, 3); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run(
            [sys.executable, "-c", give, *words],
            capture_output=True,
            text=True,
            check=False,
            pass_fds=[told.fileno()],
        )
    assert done.returncode == status, done.stderr
    return {name.partition(".")[0] for name in json.loads((tmp_path / "modules").read_text())}


@pytest.mark.parametrize("program", ["poseidon", "firmament"])
@pytest.mark.parametrize("option", ["-h", "--version"])
def test_help_loads_hardly_anything(tmp_path, program, option):
    assert not load(tmp_path, program, option) & set(HELP)


@pytest.mark.parametrize(
    "words", [("plan",), ("explain", "--pod", "boutique/frontend-0")], ids=lambda words: words[0]
)
def test_commands_that_work_on_files_load_nothing_that_talks_to_servers(tmp_path, words):
    assert not load(tmp_path, "poseidon", *words, "-f", str(EXAMPLE)) & set(EVER)


def test_an_explanation_of_a_running_solver_loads_no_planner(tmp_path):
    settings = tmp_path / "kubeconfig"
    write_kubeconfig(settings, "http://127.0.0.1:1")  # nothing answers there
    words = ["explain", "--pod", "x", "--kubeconfig", str(settings)]
    loaded = load(tmp_path, "poseidon", *words, status=1)
    assert "aiohttp" in loaded
    assert not {"numpy", "ortools", "firmament"} & loaded


def test_a_plan_that_solves_no_network_does_not_load_the_solver(tmp_path):
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '4'}}\n")
    assert "ortools" not in load(tmp_path, "poseidon", "plan", "-f", str(nodes))
