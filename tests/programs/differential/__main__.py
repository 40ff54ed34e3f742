"""``python -m tests.programs.differential``: random cases against the checker, the optimum, and one pod at a time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

import click
from rich.console import Console
from rich.table import Table

from tests.programs.differential.drive import MANNERS
from tests.programs.differential.generate import SIZES, WIDE
from tests.programs.differential.history import History
from tests.programs.differential.measure import Score, Summary, score, summarise
from tests.programs.differential.showing import show

Result = TypeVar("Result")
ROUNDS = 8
"""Of a history."""


@click.command()
@click.option(
    "--seeds", default=1000, show_default=True, help="Cases of the small sizes; of the middle one a 50th."
)
@click.option("--first", default=0, show_default=True, help="Number of the first case.")
@click.option(
    "--size", "sizes", multiple=True, type=click.Choice(list(SIZES)), help="Only these. Repeatable."
)
@click.option("--orders", default=20, show_default=True, help="Random orders of the pod-by-pod scheduler.")
@click.option("--workers", default=1, show_default=True, help="Processes.")
@click.option("--worst", default=8, show_default=True, help="Cases to name of each kind.")
@click.option(
    "--manner",
    type=click.Choice(list(MANNERS)),
    default="usual",
    show_default=True,
    help="How the core goes about it.",
)
@click.option(
    "--histories", default=0, show_default=True, help="Clusters in motion to play instead, twice each."
)
@click.option("--case", "shown", type=int, help="Print this one case of each size in full instead.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def main(
    seeds: int,
    first: int,
    sizes: tuple[str, ...],
    orders: int,
    workers: int,
    worst: int,
    manner: str,
    histories: int,
    shown: int | None,
    output: str,
) -> None:
    """Place random clusters and hold every placement, and every pod left pending, against rules stated anew."""
    if shown is not None:
        for name in sizes or SIZES:
            click.echo(show(name, shown, orders, MANNERS[manner]))
        return
    if histories:
        sys.exit(_play(range(first, first + histories), workers))
    summaries = []
    for name in sizes or tuple(SIZES):
        count = max(1, seeds // 50) if name == "middle" else seeds
        scores = _scores(name, range(first, first + count), orders, manner, workers)
        summaries.append(summarise(name, scores, worst))
    if output == "json":
        json.dump([summary.as_dict() for summary in summaries], sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(summaries)
    sys.exit(any(summary.faulty for summary in summaries))


def _scores(name: str, seeds: range, orders: int, manner: str, workers: int) -> list[Score]:
    return _for_each(partial(score, name, orders=orders, manner=MANNERS[manner]), seeds, workers)


def _play(seeds: range, workers: int) -> bool:
    """Play histories; returns whether anything went wrong."""
    faulty = [found for found in _for_each(_faults, seeds, workers) if found]
    click.echo(
        f"{len(seeds)} histories, each with events between rounds and during them: {len(faulty)} faulty"
    )
    for found in faulty:
        click.echo("\n".join(found))
    return bool(faulty)


def _faults(seed: int) -> list[str]:
    return [
        f"history {seed}, events {'during' if during else 'between'} rounds: {fault}"
        for during in (False, True)
        for fault in History(seed, WIDE).play(ROUNDS, during=during)
    ]


def _for_each(one: Callable[[int], Result], seeds: range, workers: int) -> list[Result]:
    if workers == 1:
        return [one(seed) for seed in seeds]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(one, seeds, chunksize=max(1, len(seeds) // (workers * 16))))


def _print(summaries: list[Summary]) -> None:
    console = Console(width=max(120, Console().width))  # narrower, the table would be cut
    table = Table(title="the core against the checker, the optimum, and one pod at a time")
    rows = [summary.cells() for summary in summaries]
    for heading in rows[0]:
        table.add_column(heading, justify="left" if heading == "size" else "right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
    for summary in summaries:
        for line in summary.lines():
            console.print(line, highlight=False, markup=False)


if __name__ == "__main__":
    main()
