"""The story of a seed does not depend on the order in which Python goes through sets of texts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.programs.simulation.history import run

ROOT = Path(__file__).resolve().parents[3]


def run_each_kind() -> list[list[int]]:
    """Return digest and steps of a short history with queues, with trees of groups, and with devices."""
    outcomes = run(3, 200, queued=True), run(3, 200, trees=True), run(3, 200, devices=True)
    return [[each.digest, each.steps] for each in outcomes]


def test_a_seed_is_the_same_story_whatever_the_hash_seed():
    other = subprocess.run(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONHASHSEED": "4242",
        },  # this process has another, and a different one each time
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(other.stdout) == run_each_kind()


if __name__ == "__main__":
    json.dump(run_each_kind(), sys.stdout)
