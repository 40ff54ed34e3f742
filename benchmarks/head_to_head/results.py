"""The results of a run, written to a file after each part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.environment import environment


class Results:
    """Results so far. If ``file`` exists, its results for the same machine are not measured again."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._environment = environment()
        self._results: list[dict[str, Any]] = []
        if file is not None and file.exists() and file.stat().st_size:
            saved = json.loads(file.read_text(encoding="utf-8"))
            if saved.get("kind") != self.report()["kind"]:
                raise ValueError(f"{file}: holds results of another command; name another file")
            self._results = saved["results"]
            self._environment = saved["environment"]

    def has(self, case: str, sizes: dict[str, Any], run: int, scheduler: str) -> bool:
        """Return whether a run has been measured already; a failed run has not."""
        wanted = (case, sizes, run, scheduler)
        return any(
            (each["case"], each["sizes"], each["run"], each["scheduler"]) == wanted and "failure" not in each
            for each in self._results
        )

    def add(self, result: dict[str, Any]) -> None:
        """Add the result of a run, replacing one of the same run, and write the file."""
        keys = ("case", "sizes", "run", "scheduler")
        self._results = [each for each in self._results if any(each[key] != result[key] for key in keys)]
        self._results.append(result)
        if self._file is not None:
            self._file.write_text(json.dumps(self.report(), indent=1) + "\n", encoding="utf-8")

    def report(self) -> dict[str, Any]:
        """Return the report for ``report`` to render."""
        return {"kind": "head-to-head", "environment": self._environment, "results": self._results}
