"""Writes drawn cases with the decisions of rounds and of another program, and sums up what the judge finds."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from benchmarks.judge.drawn_queues.drawing import draw_case
from benchmarks.judge.drawn_queues.other_program import decide_elsewhere
from benchmarks.judge.drawn_queues.this_scheduler import decide_here
from benchmarks.judge.queues.comparison import Summary

BATCH = 200
"""Cases that the other program is asked about at a time."""


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--first", default=0, show_default=True, help="seed of the first case")
@click.option("--cases", default=1000, show_default=True, help="number of cases")
@click.option(
    "--program",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="KUEUE_DECIDER",
    required=True,
    help="the program that decides the cases as well",
)
def main(file: Path, first: int, cases: int, program: Path) -> None:
    """Append cases to FILE, and print what the judge finds; exits with 1 if a decision of rounds is not allowed."""
    summary = Summary("here", "kueue")
    with file.open("ab") as out:
        for begin in range(first, first + cases, BATCH):
            drawn = [draw_case(seed) for seed in range(begin, min(begin + BATCH, first + cases))]
            for case, other in zip(drawn, decide_elsewhere(program, drawn), strict=True):
                posed = msgspec.structs.replace(
                    case.make_case(), decisions={"here": decide_here(case), "kueue": other}
                )
                summary.add(posed)
                out.write(msgspec.json.encode(posed) + b"\n")
            click.echo(f"up to seed {begin + len(drawn) - 1}: {summary.state()}")
    raise SystemExit(bool(summary.faults))


if __name__ == "__main__":
    main()
