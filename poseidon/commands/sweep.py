"""``poseidon simulate sweep``: simulates one scenario many times, with other settings each time."""

from __future__ import annotations

from pathlib import Path

import click

from poseidon.commands.shared.output_and_exit import bad_input, fault, write_page
from poseidon.commands.shared.progress import show_progress


@click.command("sweep")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="Parquet file of all runs. Each run's row is kept next to it until all have ended, so a stopped sweep "
    "can go on.",
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write a web page with charts."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="How many simulations run at the same time on this machine.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run the simulations on the workers of this Dask scheduler, such as tcp://host:8786.",
)
def sweep(*, file: Path, out: Path, html: Path | None, jobs: int, dask: str | None) -> None:
    """Run a scenario with every combination of the settings that FILE lists, and print the best ones.

    The command needs `pip install 'poseidon-firmament[simulate]'`; with --dask, this machine and the workers need
    'poseidon-firmament[dask]'.
    """
    from poseidon.explanation_tables import print_rows
    from poseidon.simulate.sweep.grid import load_sweep
    from poseidon.simulate.sweep.presentation import (
        best_rows,
        list_headings,
        sweep_lines,
        sweep_page,
        write_rows,
    )
    from poseidon.simulate.sweep.runs import EndedRuns, WorkersLostError, on_cores, on_dask, run_sweep
    from protos.configuration.file import ConfigurationError

    try:
        plan = load_sweep(file)
        kept = EndedRuns(out.with_name(f"{out.name}.rows"), plan)
        start = on_cores(jobs) if dask is None else on_dask(dask)
        with show_progress() as show:
            rows = run_sweep(
                plan, kept, start, lambda done: show(f"{done:,} of {len(plan.runs):,} runs ended")
            )
        write_rows(rows, out)
        kept.remove()
    except ConfigurationError as error:
        raise bad_input(error.lines) from None
    except ImportError as error:
        extra = "simulate" if dask is None else "dask"
        raise fault(f"{error.name} is missing; pip install 'poseidon-firmament[{extra}]'") from None
    except WorkersLostError as error:
        raise fault(str(error)) from None
    except OSError as error:
        raise fault(f"{error.filename or dask or out}: {error.strerror or error}") from None
    if html is not None:
        write_page(html, sweep_page(plan, rows, f"Sweep of {plan.document.scenario}"))
    print_rows(list_headings(plan), best_rows(plan, rows))
    for line in sweep_lines(plan, rows):
        click.echo(line)
