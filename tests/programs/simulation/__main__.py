"""``python -m tests.programs.simulation --seeds N --steps M``: long runs, and the story of a seed that fails."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tests.programs.simulation.history import run


def main() -> int:
    """Go through histories; return 1 if something did not hold in one of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="how many histories")
    parser.add_argument("--steps", type=int, default=1000, help="events of each before its faults end")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--always", action="append", default=[], help="a kind of fault that each knows")
    parser.add_argument("--queued", action="store_true", help="with queues, and Jobs in them")
    parser.add_argument("--trees", action="store_true", help="users create trees of groups, too")
    parser.add_argument("--devices", action="store_true", help="with claims of devices")
    parser.add_argument(
        "--restarts", action="store_true", help="with trees, and room kept for gangs that restart"
    )
    parser.add_argument("--json", type=Path, help="where results are written")
    parser.add_argument("--story", type=int, default=60, help="how many lines of a failing story are shown")
    asked = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of texts are gone through in an order that differs from process to process otherwise.
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.programs.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    began, results, steps = time.process_time(), [], 0
    for seed in range(asked.first, asked.first + asked.seeds):
        kinds = {name: getattr(asked, name) for name in ("queued", "trees", "devices", "restarts")}
        outcome = run(seed, asked.steps, asked.always, **kinds)
        results.append(outcome)
        steps += outcome.steps
        failed = sum(bool(each.violation) for each in results)
        rate = steps / max(time.process_time() - began, 1e-9)
        line = f"{len(results)}/{asked.seeds} histories, {steps} steps, {rate:.0f}/s, {failed} failed"
        sys.stderr.write(f"\r{line}")
        sys.stderr.flush()
        if outcome.violation:
            lines = (f"seed {seed}: {outcome.violation}", *outcome.story[-asked.story :])
            sys.stdout.write("\n" + "\n  ".join(lines) + "\n")
    sys.stderr.write("\n")
    if asked.json:
        asked.json.write_text(
            json.dumps([{**asdict(each), "story": each.story[-400:]} for each in results], indent=1)
        )
    return int(any(each.violation for each in results))


if __name__ == "__main__":
    sys.exit(main())
