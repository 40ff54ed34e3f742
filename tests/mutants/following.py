"""Follows changes drawn from an earlier commit to where their lines are now, so that their judgements stay."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

from tests.mutants.changes import Change, list_changes


def extract_sources(root: Path, commit: str, target: Path) -> None:
    """Write the programs as they were in a commit below ``target``."""
    packed = subprocess.run(
        ["git", "archive", commit, "firmament", "poseidon"], cwd=root, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")


def find_renames(root: Path, commit: str) -> dict[str, str]:
    """Return where modules are now that have moved since a commit."""
    words = ["git", "diff", "-M", "--name-status", "--diff-filter=R", commit, "--", "firmament", "poseidon"]
    listed = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout
    return {old: new for _, old, new in (line.split("\t") for line in listed.splitlines())}


def follow_changes(
    before: Path, now: Path, changes: Iterable[Change], renames: Mapping[str, str]
) -> dict[Change, Change]:
    """Find each change to the sources below ``before`` in those below ``now``.

    One is found if its module is still there, or was renamed, and has the lines of the change as they were; others are
    left out.
    """
    found: dict[Change, Change] = {}
    modules: dict[str, list[Change]] = {}
    for change in changes:
        modules.setdefault(change.path, []).append(change)
    for earlier, within in modules.items():
        path = renames.get(earlier, earlier)
        if not (now / path).exists():
            continue
        old, new = (before / earlier).read_bytes(), (now / path).read_bytes()
        possible = set(list_changes(path, new))
        moves = _list_moves(old.splitlines(keepends=True), new.splitlines(keepends=True))
        for change in within:
            for begin, end, bytes_on, lines_on in moves:
                if begin <= change.start and change.end <= end:
                    moved = replace(
                        change,
                        path=path,
                        line=change.line + lines_on,
                        start=change.start + bytes_on,
                        end=change.end + bytes_on,
                    )
                    if moved in possible:
                        found[change] = moved
    return found


def _list_moves(old: list[bytes], new: list[bytes]) -> list[tuple[int, int, int, int]]:
    """List runs of lines that both have: begin and end in bytes of the old text, and by how much they have moved."""
    moves = []
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        begin = sum(map(len, old[: block.a]))
        end = begin + sum(map(len, old[block.a : block.a + block.size]))
        moves.append((begin, end, sum(map(len, new[: block.b])) - begin, block.b - block.a))
    return moves
