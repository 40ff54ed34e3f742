"""``python -m tests.mutants``: put small faults into both programs, one at a time, and see which the tests notice."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tests.mutants.changes import Change
from tests.mutants.drawing import draw_changes, list_module_changes
from tests.mutants.following import extract_sources, find_renames, follow_changes
from tests.mutants.judging import Judgement, Verdict
from tests.mutants.report import Progress, describe, print_table, read_known, write_document
from tests.mutants.sharing import judge_all
from tests.mutants.unreached import list_unreached

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Judge changes and print what came of them; return 1 if some survived, unexplained, or stay open."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules or folders; all of their changes are candidates")
    parser.add_argument("--count", type=int, default=300, help="how many changes are drawn (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which are drawn (%(default)s)")
    parser.add_argument(
        "--from",
        dest="commit",
        metavar="COMMIT",
        help="draw from the sources of a commit, and follow the changes to where their lines are now; results are "
        "kept by where they were",
    )
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
    drawn = _draw(asked)
    changes = sorted(drawn.values())
    if asked.unreached:
        changes = list_unreached(ROOT, changes)
    if asked.list or asked.unreached:
        print("\n".join(describe(ROOT, change) for change in changes))
        return 0
    judgements = _judge(asked, drawn)
    left = print_table(ROOT, judgements)
    if asked.document:
        write_document(ROOT, judgements, asked.seed)
    return int(bool(left))


def _draw(asked: argparse.Namespace) -> Mapping[Change, Change]:
    """Draw changes; return where each is now, by where it was drawn."""
    if asked.commit is None:
        return {change: change for change in _choose(ROOT, asked)}
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder)
        extract_sources(ROOT, asked.commit, before)
        chosen = _choose(before, asked)
        return follow_changes(before, ROOT, chosen, find_renames(ROOT, asked.commit))


def _choose(root: Path, asked: argparse.Namespace) -> list[Change]:
    if asked.modules:
        found = list(list_module_changes(root, tuple(asked.modules)))
        return found[:: max(1, len(found) // asked.count)][: asked.count]
    return draw_changes(root, asked.count, asked.seed)


def _judge(asked: argparse.Namespace, drawn: Mapping[Change, Change]) -> dict[Change, Judgement]:
    """Judge what is not known yet, and note it; return all judgements by where the changes are now."""
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    known = read_known(asked.results, drawn)
    judgements = {
        drawn[change]: judgement
        for change, judgement in known.items()
        if not (asked.again and judgement.verdict is Verdict.SURVIVED)
    }
    was = {now: change for change, now in drawn.items()}
    progress = Progress(ROOT, len(drawn), judgements)
    with asked.results.open("a") as results:
        for change, judgement in judge_all(
            ROOT, [change for change in was if change not in judgements], asked.workers
        ):
            judgements[change] = judgement
            noted = {**asdict(was[change]), **asdict(judgement), "verdict": judgement.verdict.value}
            results.write(json.dumps(noted) + "\n")
            results.flush()
            print(progress.report(change, judgement), file=sys.stderr)
    return judgements


if __name__ == "__main__":
    sys.exit(main())
