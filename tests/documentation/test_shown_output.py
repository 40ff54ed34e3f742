"""What the README, the guides and the examples show commands print, they print.

``UPDATE_DOCUMENTS=1`` writes what is printed into the documents instead, as after a change of which of several equally
good nodes the solver chooses. Read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from tests.documentation.markdown import ROOT, blocks, documents
from tests.support.preloaded import quick_python

FOLDERS = (ROOT / "examples", ROOT / "docs" / "guides")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/queues-guide.md",
    *(each for each in documents() if any(map(each.is_relative_to, FOLDERS))),
]
ANY_LINES = "..."


class Shown(NamedTuple):
    """A command that works on files, and what a document shows below it."""

    page: Path
    command: str
    output: str


def shown() -> list[Shown]:
    found = []
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8"), "console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                ours = (
                    re.search(r"\bposeidon ((plan|explain|audit|get queues) .*-[fk]|simulate) ", command)
                    and "kubectl" not in command
                )
                if ours and "examples/02-cost-model/" not in command:  # which the tutorial's own tests run
                    found.append(Shown(page, command, output.strip()))
    return found


def run(command: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of a command; in this process unless it takes a shell."""
    words = shlex.split(command)
    if words[0] == "poseidon" and "|" not in words:
        done = CliRunner().invoke(main, words[1:])
        return done.exit_code, done.stdout, done.stderr
    preamble = f'poseidon() {{ "{quick_python()}" -m poseidon "$@"; }}; '
    shell = subprocess.run(
        ["bash", "-c", preamble + command], capture_output=True, text=True, timeout=60, check=False
    )
    return shell.returncode, shell.stdout, shell.stderr


def beside_the_tree(folder: Path) -> Path:
    """A folder that looks like the root of the repository; what commands write there is not in the repository."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    return folder


def without_times(text: str) -> list[str]:
    return [re.sub(r"\d+ ms", "N ms", line.rstrip()) for line in text.strip().splitlines()]


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Whether the lines are equal, where three dots stand for any lines."""
    pattern = "".join(r"(?:.*\n)*" if line == ANY_LINES else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def as_shown(expected: list[str], printed: list[str]) -> str:
    """What is printed, shortened where the document shortens it: so many lines before three dots stay."""
    lines: list[str] = []
    rest = list(printed)
    for paragraph in "\n".join(expected).split("\n\n"):
        size = rest.index("") if "" in rest else len(rest)
        part, rest = rest[:size], rest[size + 1 :]
        wanted = paragraph.splitlines()
        lines += [*part[: len(wanted) - 1], ANY_LINES, ""] if wanted[-1:] == [ANY_LINES] else [*part, ""]
    return "\n".join([*lines, *rest]).strip()


def update(each: Shown, printed: str) -> None:
    text = each.page.read_text(encoding="utf-8")
    new = as_shown(each.output.splitlines(), [line.rstrip() for line in printed.strip().splitlines()])
    before, after = (f"$ {each.command}\n{output}\n" for output in (each.output, new))
    each.page.write_text(text.replace(before, after), encoding="utf-8")


def test_there_is_something_to_compare():
    assert sum(bool(each.output) for each in shown()) >= 7


@pytest.mark.parametrize(
    "each", shown(), ids=lambda each: f"{each.page.relative_to(ROOT)}: {each.command[:80]}"
)
def test_the_output_is_what_is_shown(each: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(beside_the_tree(tmp_path))
    status, printed, errors = run(each.command)
    assert (status, errors) == (0, "")
    if not each.output:
        return
    if not agrees(without_times(each.output), without_times(printed)) and os.environ.get("UPDATE_DOCUMENTS"):
        update(each, printed)
        return
    assert agrees(without_times(each.output), without_times(printed)), (
        f"{each.page.relative_to(ROOT)} shows something else (UPDATE_DOCUMENTS=1 writes what is printed):\n{printed}"
    )


@pytest.mark.parametrize(
    ("expected", "printed", "equal"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "..."], ["a", "b", "c"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["a", "5%   1%"], ["a", "5%   2%"], False),
        (["a"], ["a", "b"], False),
    ],
)
def test_how_outputs_are_compared(expected: list[str], printed: list[str], equal: bool):
    assert agrees(expected, printed) is equal
    if not equal:
        assert agrees(as_shown(expected, printed).splitlines(), printed)
