"""``python -m tests.programs.hostile``: long runs through hostile input, and what took longest."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.programs.hostile import runs
from tests.programs.hostile.commands import commands
from tests.programs.hostile.timing import Timing

PART = 2_500
"""Inputs per seed: what they leave behind is looked at after so many."""

KINDS: dict[str, Callable[[Path, int, int, Timing], None]] = {
    "objects": runs.objects,
    "live": runs.live,
    "commands": commands,
    "batches": runs.batches,
    "configurations": runs.configurations,
    "manifests": runs.manifests,
}

_SAID = {
    "live": "objects of clusters that are planned with",
    "commands": "objects of clusters that commands read",
}
_WHOLE_CLUSTERS = frozenset(_SAID)


def main() -> int:
    """Go through hostile inputs; return 1 if something did not hold, or took longer than a second."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.hostile", description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, help=f"how many {_SAID.get(kind, kind)}")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--json", type=Path, help="where results are written")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    results = {}
    for kind, run in KINDS.items():
        count = getattr(asked, kind)
        if count:
            results[kind] = _through(kind, run, count, asked.first)
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))
    return int(
        any(
            each["failed"] or (kind not in _WHOLE_CLUSTERS and each["slowestSeconds"] > 1.0)
            for kind, each in results.items()
        )
    )


def _through(
    kind: str, run: Callable[[Path, int, int, Timing], None], count: int, seed: int
) -> dict[str, Any]:
    timing, drawn, failed, begun = Timing(), 0, [], time.process_time()
    while drawn < count:
        part = min(PART, count - drawn)
        with tempfile.TemporaryDirectory(prefix="poseidon-hostile-") as folder:
            try:
                run(Path(folder), seed, part, timing)
            except Exception as error:  # noqa: BLE001 - whatever ends a run is what is looked for
                failed.append(seed)
                sys.stdout.write(f"{kind}, seed {seed}: {error!r}\n")
                sys.stdout.flush()
        drawn, seed = drawn + part, seed + 1
        rate = drawn / (time.process_time() - begun)
        line = f"{drawn}/{count} {kind}, {rate:.0f}/s, slowest {timing.slowest:.3f} s, {len(failed)} failed"
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()
    sys.stderr.write("\n")
    return {"inputs": drawn, "slowestSeconds": round(timing.slowest, 3), "failed": failed}


if __name__ == "__main__":
    sys.exit(main())
