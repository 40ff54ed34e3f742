"""Shares changes out among workers, each with a copy of the project."""

from __future__ import annotations

import queue
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.mutants.changes import Change
from tests.mutants.judging import Judge, Judgement
from tests.mutants.traces import mirror

MOST_AT_ONCE: Final = 40
"""Changes that a worker takes from one folder of tests, before it takes others."""


def judge_all(root: Path, changes: list[Change], workers: int) -> Iterator[tuple[Change, Judgement]]:
    """Yield each change with its judgement, as soon as it is known.

    Copies of the project, and what was noted of its tests, stay in ``build/mutants`` for the next run.
    """
    folders: dict[str, list[Change]] = {}
    for change in sorted(changes):
        folders.setdefault(mirror(root, change.path), []).append(change)
    waiting: queue.SimpleQueue[list[Change]] = queue.SimpleQueue()
    for shared in sorted(folders.values(), key=len):
        for begin in range(0, len(shared), MOST_AT_ONCE):
            waiting.put(shared[begin : begin + MOST_AT_ONCE])
    done: queue.SimpleQueue[tuple[Change, Judgement] | None] = queue.SimpleQueue()
    kept = root / "build/mutants"

    def work(number: int) -> None:
        judge = Judge(copy_project(root, kept / f"copy-{number}"), kept / "traces")
        try:
            while True:
                for change in waiting.get_nowait():
                    done.put((change, judge.judge(change)))
        except queue.Empty:
            pass
        finally:
            judge.close()
            done.put(None)

    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work, number) for number in range(workers)]
        ended = 0
        while ended < workers:
            if (judged := done.get()) is None:
                ended += 1
            else:
                yield judged
        for each in running:
            each.result()


def copy_project(root: Path, target: Path) -> Path:
    """Bring a copy of what git knows of the project to what is in the working tree; keep what is compiled."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {name for name in listed.split("\0") if name and (root / name).is_file()}
    for file in target.rglob("*.py"):
        if file.relative_to(target).as_posix() not in names:
            file.unlink()
    for name in names:
        source, copy = root / name, target / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    return target
