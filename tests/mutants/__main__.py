"""``python -m tests.mutants``: put small faults into both programs, one at a time, and see which the tests notice."""

from __future__ import annotations

import argparse
import json
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from tests.mutants.changes import Change
from tests.mutants.drawing import draw_changes, list_module_changes
from tests.mutants.judging import Judge, Judgement
from tests.mutants.report import describe, print_table, read_known, write_document

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Judge changes and print what came of them; return 1 if some survived that nobody has explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules or folders; all of their changes are candidates")
    parser.add_argument("--count", type=int, default=300, help="how many changes are drawn (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="how many are judged at a time (%(default)s)")
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "build/mutants.jsonl",
        help="judgements are added here, and not made again (build/mutants.jsonl)",
    )
    parser.add_argument("--document", action="store_true", help="write the score into docs/mutation-tests.md")
    parser.add_argument("--list", action="store_true", help="only say what would be judged")
    asked = parser.parse_args()
    changes = _choose(asked)
    if asked.list:
        print("\n".join(describe(ROOT, change) for change in changes))
        return 0
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    judgements = read_known(asked.results, ROOT, changes)
    waiting = [change for change in changes if change not in judgements]
    with asked.results.open("a") as results:
        for number, (change, judgement) in enumerate(_judge_all(waiting, asked.workers), len(judgements) + 1):
            judgements[change] = judgement
            results.write(
                json.dumps({**asdict(change), **asdict(judgement), "verdict": judgement.verdict.value}) + "\n"
            )
            results.flush()
            print(
                f"{number}/{len(changes)} {judgement.verdict.value}: {describe(ROOT, change)}",
                file=sys.stderr,
            )
    survived = print_table(ROOT, judgements)
    if asked.document:
        write_document(ROOT, judgements, asked.seed)
    return int(bool(survived))


def _choose(asked: argparse.Namespace) -> list[Change]:
    if asked.modules:
        found = list(list_module_changes(ROOT, tuple(asked.modules)))
        return found[:: max(1, len(found) // asked.count)][: asked.count]
    return draw_changes(ROOT, asked.count, asked.seed)


def _judge_all(changes: list[Change], workers: int) -> Iterator[tuple[Change, Judgement]]:
    """Yield each change with its judgement, in the order in which they are known."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        judges: queue.Queue[Judge] = queue.Queue()
        for number in range(workers):
            judges.put(Judge(_copy_project(Path(folder) / str(number))))

        def judge(change: Change) -> tuple[Change, Judgement]:
            judge = judges.get()
            try:
                return change, judge.judge(change)
            finally:
                judges.put(judge)

        with ThreadPoolExecutor(workers) as pool:
            for done in as_completed([pool.submit(judge, change) for change in changes]):
                yield done.result()


def _copy_project(target: Path) -> Path:
    """Copy what git knows of the project, as it is in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


if __name__ == "__main__":
    sys.exit(main())
