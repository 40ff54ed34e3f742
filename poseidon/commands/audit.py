"""``poseidon audit``: lists what could be improved in a cluster as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.connection import connection_options, names_cluster
from poseidon.commands.shared.offline_input import Source, offline_options
from poseidon.commands.shared.options import hot_option, local_data_option, move_cost_option, page_option
from poseidon.commands.shared.output_and_exit import print_json, warn, write_page
from poseidon.commands.shared.progress import show_progress

if TYPE_CHECKING:
    from poseidon.offline.audit.findings import Audit

_HEADINGS = {
    "freed": ("FREED NODE",),
    "moves": ("MOVED POD", "FROM", "TO"),
    "keeping": ("PODS", "NODES", "WHAT KEEPS THEM"),
    "staying": ("NODE THAT STAYS", "POD", "REASON"),
    "cheaper": ("CHEAPER ELSEWHERE", "FROM", "TO", "SAVES"),
    "overcommitted": ("OVERCOMMITTED NODE", "LACKS"),
    "hot": ("HOT NODE", "RESOURCE", "USED"),
    "misplaced": ("MISPLACED POD", "NODE", "REASON"),
    "pending": ("PENDING POD", "REASON"),
    "cures": ("PENDING POD", "WOULD GET", "CURE"),
}


@click.command("audit")
@offline_options
@connection_options
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=500,
    help="How many sets of nodes to free are tried; the solver runs rounds for each.",
)
@page_option("Also write the audit as one web page.")
@move_cost_option("The least cost that a move has to save, in points of cost models.")
@hot_option
@local_data_option
@click.option(
    "--most-moves", type=click.IntRange(min=0), help="The most pods that may move; default: any number."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    help="The most lines that each table shows; 0: all.",
)
def audit(
    *,
    source: Source,
    output: str,
    tries: int,
    page_file: Path | None,
    move_cost: float,
    hot: tuple[tuple[str, float], ...],
    most_moves: int | None,
    local_data_may_go: bool,
    limit: int,
) -> None:
    """Say which nodes could be freed by which moves, which nodes are overloaded, and which pods wait.

    The command changes nothing.

    With -f, the command reads the cluster from files, such as the folder `cluster` of a support bundle; without -f,
    it reads the live cluster. The pods may have been placed by any scheduler, and no solver has to run.
    """
    if source.names_files and names_cluster():
        raise click.UsageError("--kubeconfig and --context are for a live cluster; leave -f away")
    with show_progress() as note:
        note("reading the cluster")
        given = source.read() if source.names_files else source.read_live()
        from poseidon.api.calls import audit as make_audit

        made = make_audit(
            given,
            tries=tries,
            most_moves=most_moves,
            move_cost=move_cost,
            hot=dict(hot),
            local_data_may_go=local_data_may_go,
            note=note,
        )
    warn(made.warnings)
    if page_file is not None:
        from poseidon.ui.report import report_page
        from poseidon.ui.views.audit import audit_report

        write_page(page_file, report_page(audit_report(made)))
    if output == "json":
        print_json(made.as_json())
    else:
        _print(made, limit)


def _print(made: Audit, limit: int) -> None:
    from poseidon.explanation_tables import print_rows

    for sentence in made.summary:
        click.echo(sentence)
    for part, rows in made.rows().items():
        shown = rows[:limit] if limit else rows
        print_rows(_HEADINGS[part], shown)
        if len(shown) < len(rows):
            click.echo(f"... {len(rows) - len(shown):,} more; --limit 0 shows all, and so does -o json.")
