"""``poseidon simulate``: simulates hours of a cluster in minutes, with the decisions of the real solver."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from poseidon.commands.shared.options import output_option
from poseidon.commands.shared.output_and_exit import bad_input, fault, print_json, warn, write_page
from poseidon.commands.shared.progress import show_progress
from poseidon.commands.sweep import sweep

if TYPE_CHECKING:
    from poseidon.simulate.engine import Simulation
    from poseidon.simulate.report import SimulationReport


class _WithSweep(click.Command):
    """The command ``simulate`` with its sub-command ``sweep``.

    A scenario file may therefore not be called ``sweep``.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of ``sweep`` if that is the first argument, else the context of ``simulate``."""
        if args[:1] == ["sweep"]:
            return sweep.make_context(f"{info_name} sweep", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("simulate", cls=_WithSweep)
@click.argument("scenario", type=click.Path(path_type=Path), required=False)
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE", help="Continue a saved simulation."
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Decide the rounds of this folder, a recording of `poseidon run --record`, again, and compare.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --replay: run the recorded work under this configuration instead, and compare with the recording.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save the simulation to this file when it is interrupted (Ctrl-C) or reaches --until.",
)
@click.option("--until", metavar="DURATION", help="Stop after this simulated time, such as 6h.")
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write a web page with charts."
)
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the curves as a Parquet file; needs `pip install 'poseidon-firmament[simulate]'`.",
)
@output_option
def simulate(
    *,
    scenario: Path | None,
    resume: Path | None,
    replay: Path | None,
    config: Path | None,
    checkpoint: Path | None,
    until: str | None,
    html: Path | None,
    parquet: Path | None,
    output: str,
) -> None:
    """Run the work of SCENARIO (a YAML file) on the cluster that it describes, and print a report.

    The real solver decides, with the scheduler's configuration that the scenario names. `poseidon simulate sweep
    FILE` runs many scenarios with other settings.
    """
    if replay is not None:
        if scenario is not None or resume is not None:
            raise click.UsageError("--replay takes the place of a scenario; name one of both")
        _replay(replay, config, output, html)
        return
    if config is not None:
        raise click.UsageError("--config goes with --replay; a scenario names its own")
    simulation = _begin(scenario, resume)
    from poseidon.simulate.presentation import format_span

    warn(simulation.warnings)
    end = _parse_end(until)
    whole = format_span(simulation.horizon)
    with show_progress() as show, interruption() as interrupted:
        over = simulation.run(
            end,
            note=lambda now: show(
                f"{format_span(now)} of {whole} simulated, {simulation.record.rounds:,} rounds"
            ),
            stop=interrupted.is_set,
        )
    if not over and checkpoint is not None:
        from poseidon.simulate.checkpoint import save

        save(simulation, checkpoint)
        click.echo(f"Saved. Go on with: poseidon simulate --resume {checkpoint}", err=True)
    from poseidon.simulate.report import make_report

    _show(make_report(simulation), output, html, parquet, scenario or resume)


def _replay(folder: Path, config: Path | None, output: str, html: Path | None) -> None:
    """Decide the rounds of a recording again; if ``config`` is given, run the recorded work under it instead."""
    from poseidon.recording.recording_files import RecordingError
    from protos.configuration.file import ConfigurationError

    try:
        if config is None:
            _decide_again(folder, output)
        else:
            _compare(folder, config, output, html)
    except ConfigurationError as error:
        raise bad_input(error.lines) from None
    except RecordingError as error:
        raise bad_input([str(error)]) from None


def _decide_again(folder: Path, output: str) -> None:
    """Decide the rounds of a recording again, and print how many decisions are the same as in the recording."""
    from dataclasses import asdict

    from poseidon.explanation_tables import print_rows
    from poseidon.recording.recording_files import read_recording
    from poseidon.simulate.recorded.presentation import (
        DIFFERENCES,
        describe_replayed_decisions,
        difference_rows,
    )
    from poseidon.simulate.recorded.replaying import decide_again

    with show_progress() as show:
        found = decide_again(
            read_recording(folder), note=lambda now: show(f"{now.rounds:,} rounds decided again")
        )
    if output == "json":
        print_json(asdict(found) | {"first": [each._asdict() for each in found.first]})
        return
    if found.first:
        print_rows(DIFFERENCES, difference_rows(found))
    for line in describe_replayed_decisions(found):
        click.echo(line)


def _compare(folder: Path, config: Path, output: str, html: Path | None) -> None:
    """Run the work of a recording under another configuration, and print the results of both runs."""
    from poseidon.embedding import load_configuration
    from poseidon.explanation_tables import print_rows
    from poseidon.recording.recording_files import RecordingError, read_recording
    from poseidon.simulate.presentation import format_span
    from poseidon.simulate.recorded.history import read_history
    from poseidon.simulate.recorded.presentation import SIDES, side_lines, side_page, side_rows
    from poseidon.simulate.recorded.what_if import compare_with_history

    configuration = load_configuration(config)
    try:
        history = read_history(read_recording(folder))
    except ValueError as error:
        raise RecordingError(f"{folder}: {error}") from None
    whole = format_span(history.horizon)
    with show_progress() as show:
        sides = compare_with_history(
            history, configuration, note=lambda now: show(f"{format_span(now)} of {whole} simulated")
        )
    if html is not None:
        write_page(html, side_page(sides, f"What if: {config.name}"))
    if output == "json":
        print_json({"was": sides.was.as_json(timed=False), "now": sides.now.as_json(timed=False)})
        return
    print_rows(SIDES, side_rows(sides))
    for line in side_lines(sides):
        click.echo(line)


@contextmanager
def interruption() -> Iterator[Event]:
    """Yield an event that is set when the user interrupts the command; a round that has begun ends first."""
    interrupted = Event()
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(scenario: Path | None, resume: Path | None) -> Simulation:
    """Return the simulation to run; if the scenario has defects, end the command."""
    if (scenario is None) == (resume is None):
        raise click.UsageError("name one scenario, or --resume FILE")
    from poseidon.simulate.checkpoint import CheckpointError
    from poseidon.simulate.checkpoint import resume as go_on
    from poseidon.simulate.scenario.document import load_scenario
    from poseidon.simulate.setup import SimulationError, set_up
    from protos.configuration.file import ConfigurationError

    try:
        if resume is not None:
            return go_on(resume)
        assert scenario is not None
        return set_up(load_scenario(scenario), scenario.parent)
    except (ConfigurationError, SimulationError) as error:
        raise bad_input(error.lines) from None
    except CheckpointError as error:
        raise bad_input([str(error)]) from None


def _parse_end(until: str | None) -> float | None:
    from protos.conventions.durations import parse_duration

    try:
        return None if until is None else parse_duration(until)
    except ValueError as error:
        raise bad_input([f"--until: {error}"]) from None


def _show(
    report: SimulationReport, output: str, html: Path | None, parquet: Path | None, source: Path | None
) -> None:
    from poseidon.explanation_tables import print_rows
    from poseidon.simulate.presentation import (
        HEADINGS,
        simulation_page,
        summary_lines,
        wait_rows,
        write_curves,
    )

    if html is not None:
        write_page(html, simulation_page(report, f"Simulation of {source.name if source else 'a cluster'}"))
    if parquet is not None:
        try:
            write_curves(report, parquet)
        except ImportError:
            raise fault("--parquet: polars is missing; pip install 'poseidon-firmament[simulate]'") from None
        except OSError as error:
            raise fault(f"--parquet: {parquet}: {error.strerror}") from None
    if output == "json":
        print_json(report.as_json())
        return
    print_rows(HEADINGS, wait_rows(report.waits))
    for line in summary_lines(report):
        click.echo(line)
