"""``firmament replay``: solves saved rounds again, and compares the results."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firmament.commands.inspection_options import echo_json, output_option
from firmament.server.rounds.round_saver import list_saved_rounds, read_round
from protos.conventions.number_formats import format_gap

if TYPE_CHECKING:
    from firmament.saved_rounds.replaying import Replay

_UNWRAPPED = 10_000
"""Columns of a table where the output goes to a file or pipe."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@output_option
def replay(path: Path, output: str) -> None:
    """Solve a saved round again, or all rounds of a folder that `firmament serve --artefacts` wrote.

    This process solves the saved problem again with the same options. For small networks, networkx, which shares no
    code with the solver, computes the least cost as well. The exit status is 0 if every placement is the same as
    before, and every flow has the least cost that networkx finds. The exit status is 1 if a placement or a cost
    differs, and 2 if a round cannot be read or solved.
    """
    from firmament.saved_rounds import SavedRoundError
    from firmament.solvers.base import SolverError

    replays = []
    folder = path
    try:
        for folder in _rounds(path):
            replays.append(_replay(folder))
    except (SavedRoundError, SolverError) as error:
        click.echo(f"{folder}: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        click.echo(
            f"{error.filename or folder}: cannot be read: {error.strerror}; name a saved round", err=True
        )
        sys.exit(2)
    if output == "json":
        rounds = [{"path": str(each), **done.document()} for each, done in replays]
        echo_json({"rounds": rounds})
    else:
        _print_table(replays)
    sys.exit(0 if all(done.same and done.agrees for _, done in replays) else 1)


def _rounds(path: Path) -> list[Path]:
    """Return the folders of the rounds that ``path`` names: the folder itself, or those in it.

    Raises ``SavedRoundError`` and ``OSError``.
    """
    from firmament.saved_rounds import SavedRoundError
    from firmament.saved_rounds.saving import NEEDED

    if any((path / name).exists() for name in NEEDED):
        return [path]
    found = [folder for _, folder in list_saved_rounds(path)]
    if not found:
        raise SavedRoundError("holds no saved round; name a folder that firmament serve --artefacts wrote")
    return found


def _replay(folder: Path) -> tuple[Path, Replay]:
    import time

    from firmament.saved_rounds.graphs import NETWORK_FILE, find_least_cost, read_graph
    from firmament.saved_rounds.replaying import replay as run_again
    from firmament.saved_rounds.saving import decode_round
    from firmament.solvers.ortools_solver import OrToolsSolver

    files = read_round(folder)
    saved = decode_round(files)
    done = run_again(saved, OrToolsSolver(), time.perf_counter)
    if NETWORK_FILE in files:
        graph = read_graph(files, saved.description)
        done = dataclasses.replace(done, bound=graph.graph["cost"], checked=find_least_cost(graph))
    return folder, done


def _print_table(replays: list[tuple[Path, Replay]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("saved as", "cluster", title="Saved rounds, run again")
    for heading in ("round", "tasks", "placed", "same", "cost", "certified", "networkx", "gap", "seconds"):
        table.add_column(heading, justify="right")
    for folder, done in replays:
        table.add_row(
            folder.name,
            done.cluster,
            str(done.round),
            f"{done.now.tasks:,}",
            f"{done.placed:,}",
            "yes" if done.same else f"no, {done.moved:,} moved",
            _pair(f"{done.then.cost:,}", f"{done.now.cost:,}"),
            _pair(*("yes" if each.certified else "no" for each in (done.then, done.now))),
            _compare_costs(done),
            _pair(format_gap(done.then.gap), format_gap(done.now.gap)),
            f"{_seconds(done.then):.3f} / {_seconds(done.now):.3f}",
        )
    # In a file or pipe, lines must stay whole, so that grep finds them.
    Console(width=None if sys.stdout.isatty() else _UNWRAPPED).print(table)
    click.echo("If a cell has two figures, the first is from when the round was saved.")
    for folder, done in replays:
        for stats, when in ((done.then, "when it was saved"), (done.now, "now")):
            if stats.time_limited:
                click.echo(
                    f"{folder.name}: a time limit cut the solve off {when}; "
                    "the placements may differ for this reason alone."
                )


def _compare_costs(done: Replay) -> str:
    """Return in words how the saved flow's cost compares with the least cost that networkx computed."""
    if done.checked is None:
        return "-"
    return "agrees" if done.agrees else f"{done.checked:,}, not {done.bound:,}"


def _pair(then: str, now: str) -> str:
    return now if then == now else f"{then} / {now}"


def _seconds(stats: object) -> float:
    """Return the seconds of those stages of a round that a replay repeats."""
    return sum(getattr(stats, f"{stage}_seconds") for stage in ("network", "solve", "admit"))
