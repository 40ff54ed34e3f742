"""A package of another's that has the name of one of ours is refused by name, and never used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("ours", "foreign"), [("poseidon", "protos"), ("firmament", "protos"), ("firmament", "cost_models")]
)
def test_a_foreign_package_of_the_same_name_is_one_clear_line(tmp_path, ours, foreign):
    (tmp_path / foreign).mkdir()
    (tmp_path / foreign / "__init__.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", f"import {ours}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith(f"ImportError: the package {foreign!r} that Python finds first is not the one of")
    assert str(tmp_path / foreign) in line


def test_a_folder_without_python_in_it_does_no_harm(tmp_path):
    (tmp_path / "protos").mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
    }  # as in a wheel: not by the finder of an editable install
    done = subprocess.run(
        [sys.executable, "-c", "import poseidon.cli"], cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0
