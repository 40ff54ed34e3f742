"""``python -m tests.mutants``: put small faults into both programs, one at a time, and see which the tests notice."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.mutants.changes import Change
from tests.mutants.drawing import draw_changes, list_module_changes
from tests.mutants.judging import Verdict
from tests.mutants.report import Progress, describe, print_table, read_known, write_document
from tests.mutants.sharing import judge_all
from tests.mutants.unreached import list_unreached

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
    parser.add_argument("--again", action="store_true", help="judge those that survived once more")
    parser.add_argument("--document", action="store_true", help="write the score into docs/mutation-tests.md")
    parser.add_argument(
        "--unreached", action="store_true", help="only say which changes no test comes to; judge nothing"
    )
    parser.add_argument("--list", action="store_true", help="only say what would be judged")
    asked = parser.parse_args()
    changes = _choose(asked)
    if asked.unreached:
        changes = list_unreached(ROOT, changes)
    if asked.list or asked.unreached:
        print("\n".join(describe(ROOT, change) for change in changes))
        return 0
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    judgements = read_known(asked.results, ROOT, changes)
    if asked.again:
        judgements = {
            change: judgement
            for change, judgement in judgements.items()
            if judgement.verdict is not Verdict.SURVIVED
        }
    progress = Progress(ROOT, len(changes), judgements)
    with asked.results.open("a") as results:
        for change, judgement in judge_all(
            ROOT, [change for change in changes if change not in judgements], asked.workers
        ):
            judgements[change] = judgement
            results.write(
                json.dumps({**asdict(change), **asdict(judgement), "verdict": judgement.verdict.value}) + "\n"
            )
            results.flush()
            print(progress.report(change, judgement), file=sys.stderr)
    survived = print_table(ROOT, judgements)
    if asked.document:
        write_document(ROOT, judgements, asked.seed)
    return int(bool(survived))


def _choose(asked: argparse.Namespace) -> list[Change]:
    if asked.modules:
        found = list(list_module_changes(ROOT, tuple(asked.modules)))
        return found[:: max(1, len(found) // asked.count)][: asked.count]
    return draw_changes(ROOT, asked.count, asked.seed)


if __name__ == "__main__":
    sys.exit(main())
