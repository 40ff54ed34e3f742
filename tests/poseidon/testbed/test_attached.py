"""Programs that end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from poseidon.testbed.harness import attached
from tests.support.time_limits import stretch

ECHO = (sys.executable, "-I", "-S", "-c", "import sys; print(sys.argv[1:])")


def attach(parent: int, *program: str) -> subprocess.CompletedProcess[str]:
    script = str(Path(attached.__file__))
    command = [sys.executable, "-I", "-S", script, str(parent), *program]
    return subprocess.run(command, capture_output=True, text=True, timeout=stretch(20), check=False)


def test_the_program_gets_all_its_arguments() -> None:
    result = attach(os.getpid(), *ECHO, "one", "two")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "['one', 'two']\n"


def test_a_program_whose_parent_has_ended_is_not_started() -> None:
    result = attach(os.getpid() + 1, *ECHO)
    assert result.returncode == int(sys.platform == "linux")
    assert not result.stdout or sys.platform != "linux"
