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


def decisive(command: str, output: str) -> list[str]:
    """Lines of an output that must be equal: all of an explanation; of a plan who is placed or not, and the summary.

    Which of several equally good nodes a pod gets may change with every refinement of the solver. Times differ anyway.
    """
    lines = [re.sub(r"\d+ ms", "N ms", line.rstrip()) for line in output.strip().splitlines()]
    if "poseidon plan" not in command:
        return lines
    tables = "\n".join(lines).split("\n\n")
    pods = [
        line.split()[0] for table in tables if not table.startswith("NODE") for line in table.splitlines()
    ]
    return [*pods[: -len(tables[-1].splitlines())], tables[-1]]


def test_there_is_something_to_compare():
    assert len(shown()) >= 7


@pytest.mark.parametrize(("command", "output"), shown(), ids=[command for command, _ in shown()])
def test_the_output_is_what_is_shown(command, output):
    done = subprocess.run(
        ["bash", "-c", PREAMBLE + command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected, found = decisive(command, output), iter(decisive(command, done.stdout))
    for line in expected:
        # Three dots stand for any lines.
        assert line == "..." or line in found, (
            f"{line!r} is shown in the document, and not printed:\n{done.stdout}"
        )
    assert "..." in expected or next(found, None) is None, done.stdout
