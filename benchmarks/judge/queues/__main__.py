"""Judges the decisions of a file of cases; exits with 1 if one is not allowed."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from benchmarks.judge.queues.cases import Case
from benchmarks.judge.queues.comparison import summarize


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--one", default="here", show_default=True, help="whose decisions are judged")
@click.option("--other", default="kueue", show_default=True, help="whose decisions they are compared with")
@click.option("--all", "everything", is_flag=True, help="also list the cases that are decided the same")
def main(file: Path, one: str, other: str, *, everything: bool) -> None:
    """Judge the cases of FILE, one JSON object a line."""
    decoder = msgspec.json.Decoder(Case)
    cases = [decoder.decode(line) for line in file.read_bytes().splitlines() if line.strip()]
    summary, verdicts = summarize(cases, one, other)
    for name, words in verdicts:
        if everything or not words.startswith("same, allowed"):
            click.echo(f"{name}: {words}")
        for fault in summary.faults.get(name, ()):
            click.echo(f"    {fault}")
    click.echo(f"{len(cases)} cases: {summary.state()}")
    raise SystemExit(bool(summary.faults))


if __name__ == "__main__":
    main()
