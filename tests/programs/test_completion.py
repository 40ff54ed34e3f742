"""`completion` prints scripts that shells take, and by which they ask the program itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from firmament.cli import main as firmament
from poseidon.cli import main as poseidon

PROGRAMS = {"poseidon": poseidon, "firmament": firmament}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed(program, shell):
    result = CliRunner().invoke(PROGRAMS[program], ["completion", shell], prog_name=program)
    assert result.exit_code == 0, result.output
    assert f"_{program.upper()}_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_takes_it(tmp_path):
    result = CliRunner().invoke(poseidon, ["completion", "bash"], prog_name="poseidon")
    (tmp_path / "script").write_text(result.stdout)
    checked = subprocess.run(["bash", "-n", str(tmp_path / "script")], check=False, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "expected"), [("poseidon exp", "explain"), ("poseidon plan --out", "--output")]
)
def test_the_program_answers(words, expected):
    environment = {
        "_POSEIDON_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    program = Path(sys.executable).with_name("poseidon")
    done = subprocess.run(
        [str(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert f"plain,{expected}" in done.stdout.splitlines()


def test_kubectl_finds_it_by_its_name():
    """kubectl runs whatever is called kubectl-NAME as `kubectl NAME`."""
    program = Path(sys.executable).with_name("kubectl-poseidon")
    done = subprocess.run(
        [str(program), "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.startswith("poseidon, version")
