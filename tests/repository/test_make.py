"""The make targets are documented and fail clearly where they cannot work."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    "demo",
    "kind",
    "test",
    "test-full",
    "mutants",
    "release-check",
    "release",
    "workflows",
    "lint",
    "javascript",
    "bench",
    "proto",
    "pictures",
    "site",
    "lock",
    "images",
    "chart",
    "format",
    "clean",
    "help",
)

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in the repository, apart from any make that runs the tests."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", *arguments],
        env={**environment, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_is_the_default_and_lists_every_target():
    result = make()
    assert result.returncode == 0
    assert [line.split()[1] for line in result.stdout.splitlines()] == list(TARGETS)


@pytest.mark.parametrize("interpreter", ["old", "absent"])
def test_an_unsuitable_interpreter_gives_one_clear_line(tmp_path, interpreter):
    python = tmp_path / interpreter
    if interpreter == "old":
        python.write_text("#!/bin/sh\nexit 1\n")
        python.chmod(0o755)
    result = make("lint", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
    assert result.returncode != 0
    assert result.stdout == ""
    message, *rest = result.stderr.splitlines()
    assert message.startswith("Python 3.11 or newer is needed")
    assert str(python) in message
    assert len(rest) == 1  # make's own line
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    "target", ["demo", "test", "test-full", "lint", "bench", "proto", "pictures", "images", "chart", "format"]
)
def test_targets_set_up_what_they_need(tmp_path, target):
    result = make("-n", target, f"VENV={tmp_path / 'venv'}")
    assert result.returncode == 0
    assert "--require-hashes -r requirements.lock" in result.stdout


def test_ci_lists_versions_and_runs_lint_and_tests(tmp_path):
    def program(path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    script = tmp_path / ".ci" / "run"
    script.parent.mkdir()
    shutil.copy(ROOT / ".ci" / "run", script)
    # A make that prints more than a pipe holds for --version, and otherwise only says what it is asked for.
    long = "yes 'GNU Make' | head -n 50000"
    program(tmp_path / "bin" / "make", f'if [ "$1" = --version ]; then {long}; else echo "make: $*"; fi')
    program(tmp_path / ".venv" / "bin" / "python", 'echo "python: $*"')
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    result = subprocess.run(
        [script], env=environment, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert result.returncode == 0, result.stderr
    assert "Python 3." in result.stdout
    assert result.stdout.count("GNU Make") == 1
    assert "git version" in result.stdout
    beside, then = [line for line in result.stdout.splitlines() if line.startswith("make: ")]
    assert beside == "make: --jobs=2 --output-sync=target lint site images"
    assert then == "make: test"
