"""``poseidon plan``: plans one offline round for the objects in manifests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.offline_input import Source, wide_offline_options
from poseidon.commands.shared.options import move_cost_option, page_option
from poseidon.commands.shared.output_and_exit import print_json, warn, write_page

if TYPE_CHECKING:
    from poseidon.simulate.expected_starts import ExpectedStarts

STILL_PENDING = 3
"""Exit status of ``plan --fail-pending`` if pods stay pending; no other outcome has this status."""


@click.command("plan")
@wide_offline_options
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    metavar="NAME",
    help="Schedule only pods of this spec.schedulerName; default: all pending pods. May be repeated.",
)
@click.option(
    "--reschedule",
    is_flag=True,
    help="Also say which running pods should move to nodes where they cost less.",
)
@click.option(
    "--fail-pending", is_flag=True, help="Exit with status 3 if pods stay pending, for scripts and CI."
)
@click.option(
    "--when",
    is_flag=True,
    help="Also say when pods are expected to get nodes; a simulation with new pods as in the last hours finds out.",
)
@page_option("Also write the plan as one web page.")
@move_cost_option("With --reschedule: the least cost that a move has to save, in points of cost models.")
def plan(
    *,
    source: Source,
    output: str,
    scheduler_names: tuple[str, ...],
    reschedule: bool,
    fail_pending: bool,
    when: bool,
    page_file: Path | None,
    move_cost: float,
) -> None:
    """Say which pods of the manifests would be bound to which nodes, and why the other pods would wait.

    The command reads what `kubectl get nodes,pods,deployments,... -o yaml` prints, or manifests as people write them.
    """
    given = source.read()
    from poseidon.api.calls import plan as make_plan

    made = make_plan(given, scheduler_names=scheduler_names, move_cost=move_cost if reschedule else None)
    warn(made.warnings)
    if page_file is not None:
        write_page(page_file, made.to_html())
    starts = None
    if when:
        from poseidon.simulate.expected_starts import expect_starts

        starts = expect_starts(given.manifests, given.configuration, given.now)
    if output == "json":
        print_json(
            made.as_json() if starts is None else made.as_json() | {"expectedStarts": starts.as_json()}
        )
    else:
        from poseidon.offline.tables import print_plan

        print_plan(made, wide=output == "wide")
        if starts is not None:
            _print_starts(starts)
    if fail_pending and made.pending:
        raise SystemExit(STILL_PENDING)


def _print_starts(starts: ExpectedStarts) -> None:
    """Print when pods are expected to get nodes, and what this expectation is based on."""
    from poseidon.explanation_tables import print_rows
    from poseidon.simulate.expected_starts import HEADINGS, start_lines, start_rows

    click.echo()
    print_rows(HEADINGS, start_rows(starts))
    for line in start_lines(starts):
        click.echo(line)
