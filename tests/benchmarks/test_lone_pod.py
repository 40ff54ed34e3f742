"""Parts of a lone pod's time: those of every pod add up to all that it waited."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.processes.lone_pod import STAGES

pytestmark = pytest.mark.usefixtures("forked_programs")


def test_parts_of_a_pods_time_add_up(tmp_path):
    file = tmp_path / "saved.json"
    words = ["lone-pod", "--simulated", "--nodes", "5", "--pods", "4", "--rate", "20", "--save", str(file)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    saved = json.loads(file.read_text())
    means = {name: each["mean"] for name, each in saved["milliseconds"].items()}
    assert {f"round: {stage}" for stage in STAGES} <= means.keys()
    assert means.pop("all") == pytest.approx(sum(means.values()), abs=0.1)
    assert saved["pods"] >= 4
    rendered = CliRunner().invoke(main, ["report", str(file)])
    assert "| part | mean ms | p50 ms | p95 ms |" in rendered.output
