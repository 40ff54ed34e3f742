"""What the README and the examples show commands print, they print."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.documentation.markdown import ROOT, blocks, documents

PREAMBLE = f'poseidon() {{ "{sys.executable}" -m poseidon "$@"; }}; '
PAGES = [ROOT / "README.md", *(each for each in documents() if each.is_relative_to(ROOT / "examples"))]


def shown() -> list[tuple[str, str]]:
    """Commands that work on files, with the output that is shown for them."""
    found = []
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8"), "console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                if re.search(r"\bposeidon (plan|explain) ", command) and output.strip():
                    found.append((command, output.strip()))
    return found


def pattern(output: str) -> str:
    """A regular expression for an output: a line of three dots stands for any lines, times may differ."""
    lines = [
        r"(?:.*\n)*?.*" if line == "..." else re.sub(r"\d+\\ ms", r"\\d+ ms", re.escape(line))
        for line in output.splitlines()
    ]
    return "\n".join(lines)


def test_there_is_something_to_compare():
    assert len(shown()) >= 7


@pytest.mark.parametrize(("command", "output"), shown(), ids=[command for command, _ in shown()])
def test_the_output_is_what_is_shown(command, output):
    done = subprocess.run(
        ["bash", "-c", PREAMBLE + command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(pattern(output), done.stdout.strip()), done.stdout
