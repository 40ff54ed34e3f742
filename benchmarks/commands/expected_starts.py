"""``expected-starts``: compares the starts that ``--when`` predicts with the real ones."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command("expected-starts")
@click.option(
    "--only", default="", help="Only workloads whose name contains this: generated, parallel, helios, openb."
)
@click.option(
    "--moments", default=4, show_default=True, type=click.IntRange(1, 100), help="Most questions per cluster."
)
@click.option(
    "--answers", default=10, show_default=True, type=click.IntRange(1), help="Most pods per question."
)
@click.option(
    "--hours", default=None, type=(click.IntRange(1, 200), click.IntRange(1, 200)),
    help="From when to when is asked, after the beginning; default: when many wait, by workload.",
)  # fmt: skip
@click.option("--seeds", default=6, show_default=True, type=click.IntRange(1, 100), help="Clusters of each.")
@click.option(
    "--first-seed", default=1, show_default=True, type=click.IntRange(1), help="Of the first cluster."
)
@click.option(
    "--scale", default=1.0, show_default=True, type=click.FloatRange(0.01, 4), help="Part of the nodes."
)
@click.option(
    "--openb",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with openb's lists of nodes and pods; without, openb is left out.",
)
@click.option(
    "--openb-part", default=48, show_default=True, type=click.IntRange(1, 200),
    help="One in how many of openb's nodes is taken.",
)  # fmt: skip
@OUTPUT
@SAVE
def expected_starts(
    only: str,
    moments: int,
    answers: int,
    hours: tuple[int, int] | None,
    seeds: int,
    first_seed: int,
    scale: float,
    openb: Path | None,
    openb_part: int,
    output: str,
    save: Path | None,
) -> None:
    """Compare expected starts with actual starts, in simulated clusters with nearly too much work.

    The question is that of `poseidon plan --when`: it knows what the API server would, and nothing of what comes.
    """
    from benchmarks.expected_starts.measure import StartOptions, measure_starts
    from benchmarks.expected_starts.workloads import WORKLOADS

    chosen = tuple(name for name in WORKLOADS if only in name and (name != "openb" or openb is not None))
    if not chosen:
        raise click.BadParameter(
            f"no workload has {only!r} in its name, or it is openb without --openb", param_hint="--only"
        )
    if hours is not None and hours[0] > hours[1]:
        raise click.BadParameter("the first hour is after the last", param_hint="--hours")
    options = StartOptions(chosen, moments, answers, hours, seeds, scale, openb, first_seed, openb_part)
    emit(measure_starts(options, progress()), output, save)
