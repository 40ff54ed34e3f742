"""Shows which changes were noticed: a line each, a table by folder, and the page in docs."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.mutants.changes import Change
from tests.mutants.judging import Judgement, Verdict

EQUIVALENT: Final = "tests/mutants/equivalent.json"
"""Changes that change nothing anybody could see: by path, line of code and replacement, each with the reason."""

BEGIN, END = "<!-- score -->", "<!-- end of score -->"


def describe(root: Path, change: Change) -> str:
    """Say where a change is and what it does."""
    source = (root / change.path).read_bytes()
    before = source[change.start : change.end].decode()
    return f"{change.path}:{change.line} {change.kind}: {_short(before)} -> {_short(change.replacement)}"


def read_known(results: Path, changes: Iterable[Change]) -> dict[Change, Judgement]:
    """Read judgements of an earlier run about changes that would still be the same, except those left open."""
    wanted = set(changes)
    known: dict[Change, Judgement] = {}
    if not results.exists():
        return known
    for line in results.read_text().splitlines():
        entry = json.loads(line)
        judgement = Judgement(
            Verdict(entry.pop("verdict")), entry.pop("seconds"), entry.pop("test"), entry.pop("tests")
        )
        change = Change(**entry)
        if change in wanted and judgement.verdict is not Verdict.OPEN:
            known[change] = judgement
    return known


class Progress:
    """Says after each judgement how far a run has come."""

    def __init__(self, root: Path, total: int, known: Mapping[Change, Judgement]) -> None:
        self._root = root
        self._total = total
        self._first = len(known)
        self._counts = Counter(judgement.verdict for judgement in known.values())
        self._begun = time.monotonic()

    def report(self, change: Change, judgement: Judgement) -> str:
        """Return the line about one more."""
        self._counts[judgement.verdict] += 1
        done = self._counts.total()
        each = (time.monotonic() - self._begun) / (done - self._first)
        minutes = each * (self._total - done) / 60
        return (
            f"{done}/{self._total}, {self._counts[Verdict.SURVIVED]} survived, {minutes:.0f} min left: "
            f"{judgement.verdict.value} in {judgement.seconds:.1f} s by {_name_judge(judgement)} of "
            f"{judgement.tests}: {describe(self._root, change)}"
        )


def print_table(root: Path, judgements: Mapping[Change, Judgement]) -> list[Change]:
    """Print survivors, open changes and the score of each folder; return those of both that nobody has explained."""
    survived = _list_survivors(root, judgements)
    for change in survived:
        print(f"survived: {describe(root, change)}")
    undecided = sorted(change for change in judgements if judgements[change].verdict is Verdict.OPEN)
    for change in undecided:
        print(f"not judged, as {judgements[change].test} fails anyway: {describe(root, change)}")
    print("\n".join(_make_table(root, judgements)))
    return survived + undecided


def write_document(root: Path, judgements: Mapping[Change, Judgement], seed: int) -> None:
    """Put the table into docs/mutation-tests.md."""
    page = root / "docs/mutation-tests.md"
    head, _, rest = page.read_text().partition(BEGIN)
    tail = rest.partition(END)[2]
    survivors = [f"* `{describe(root, change)}`" for change in _list_survivors(root, judgements)]
    lines = [f"Seed {seed}:", "", *_make_table(root, judgements)]
    if survivors:
        lines += ["", "Not noticed:", "", *survivors]
    page.write_text("\n".join([head + BEGIN, *lines, END]) + tail)


def _name_judge(judgement: Judgement) -> str:
    if judgement.verdict is Verdict.OPEN:
        return f"none ({judgement.test} fails anyway)"
    return judgement.test or "none"


def _make_table(root: Path, judgements: Mapping[Change, Judgement]) -> list[str]:
    """Score each folder by its changes that were judged."""
    counts: dict[str, Counter[Verdict]] = {}
    explained = _read_equivalent(root)
    for change, judgement in sorted(judgements.items()):
        if judgement.verdict is not Verdict.OPEN and _key(root, change) not in explained:
            folder = change.path.rpartition("/")[0]
            counts.setdefault(folder, Counter())[judgement.verdict] += 1
    total = sum(counts.values(), Counter())
    lines = [
        "| folder | changes | noticed | not noticed | score |",
        "|---|---|---|---|---|",
    ]
    for name, count in [*counts.items(), ("all", total)]:
        number = count.total()
        killed = count[Verdict.KILLED]
        score = f"{100 * killed / number:.0f} %" if number else ""
        lines.append(f"| {name} | {number} | {killed} | {count[Verdict.SURVIVED]} | {score} |")
    return lines


def _list_survivors(root: Path, judgements: Mapping[Change, Judgement]) -> list[Change]:
    explained = _read_equivalent(root)
    return sorted(
        change
        for change, judgement in judgements.items()
        if judgement.verdict is Verdict.SURVIVED and _key(root, change) not in explained
    )


def _read_equivalent(root: Path) -> set[tuple[str, str, str]]:
    entries = json.loads((root / EQUIVALENT).read_text())
    return {(each["path"], each["line"], each["replacement"]) for each in entries}


def _key(root: Path, change: Change) -> tuple[str, str, str]:
    """What stays the same when lines above a change come or go."""
    line = (root / change.path).read_text().splitlines()[change.line - 1].strip()
    return change.path, line, change.replacement


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
