"""Rounds beside those of an earlier commit."""

from __future__ import annotations

import subprocess
import tempfile

import pytest

from benchmarks.reports.sheets import markdown
from benchmarks.rounds.drift import ROOT, DriftError, drift_sheets, measure_drift


def worktrees() -> str:
    command = ["git", "-C", str(ROOT), "worktree", "list", "--porcelain"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_earlier_tree_runs_the_same_rounds_and_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = list[str]()
    report = measure_drift("HEAD", [2], nodes=20, tasks=20, pairs=1, progress=said.append)
    (found,) = report["results"]
    assert found["placed"] == 20
    assert found["ratio"] == pytest.approx(found["after"] / found["before"])
    assert found["toOrTools"] > 1.0
    assert said == ["2 classes: 1 pairs"]
    assert "| 2 | " in markdown(drift_sheets(report))
    assert str(tmp_path) not in worktrees()
    assert not list(tmp_path.iterdir())


def test_an_unknown_commit_is_said_in_one_line():
    with pytest.raises(DriftError, match=r"^commit never cannot be checked out: .*never"):
        measure_drift("never", [2], nodes=20, tasks=20, pairs=1, progress=lambda _: None)
