"""``poseidon audit``: what could be better about a cluster as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.connection import connect, connection_options, fault
from poseidon.commands.live_input import read_live
from poseidon.commands.move_options import hot_option, move_cost_option
from poseidon.commands.offline_options import (
    offline_options,
    read_configuration,
    read_input,
    warn,
)

if TYPE_CHECKING:
    from poseidon.offline.audit.findings import Audit

_HEADINGS = {
    "freed": ("FREED NODE",),
    "moves": ("MOVED POD", "FROM", "TO"),
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
    show_default=True,
    help="How often a choice of nodes is tried, each by rounds of the solver.",
)
@click.option(
    "--html",
    "page_file",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the audit as one web page, too.",
)
@move_cost_option("What a move has to save to be worth it, in points of cost models.")
@hot_option
@click.option("--most-moves", type=click.IntRange(min=0), help="How many pods may move; default: any number.")
def audit(
    *,
    paths: tuple[str, ...],
    config: Path | None,
    print_config: bool,
    now: float | None,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
    tries: int,
    page_file: Path | None,
    move_cost: float,
    hot: tuple[tuple[str, float], ...],
    most_moves: int | None,
) -> None:
    """Say which nodes could be freed by which moves, which hold too much, and which pods wait. Changes nothing.

    With -f, of the cluster that files describe, such as the folder `cluster` of a support bundle; without, of the live
    one. It does not matter which scheduler has placed the pods, and no solver has to run.
    """
    if print_config:
        click.echo(read_configuration(config).effective_yaml(), nl=False)
        return
    if paths and (kubeconfig or context):
        raise click.UsageError("--kubeconfig and --context are for a live cluster; leave -f away")
    given = read_input(paths, config, now) if paths else read_live(connect(kubeconfig, context), config, now)
    from poseidon.offline.audit.looking import make_audit

    made = make_audit(
        given.manifests,
        given.configuration,
        given.now,
        tries=tries,
        budget=most_moves,
        move_cost=move_cost,
        hot=dict(hot),
    )
    warn(made.warnings)
    if page_file is not None:
        from poseidon.offline.audit.page import page

        try:
            page_file.write_text(page(made), encoding="utf-8")
        except OSError as error:
            raise fault(f"--html: {page_file}: {error.strerror}") from None
    if output == "json":
        click.echo(json.dumps(made.as_json(), indent=2, ensure_ascii=False))
        return
    _print(made)


def _print(made: Audit) -> None:
    from poseidon.offline.tables import print_rows

    click.echo(f"{made.pods} pods run on {made.nodes} nodes.")
    click.echo(f"{len(made.freed)} nodes could be freed by {len(made.moves)} moves; {made.proof}.")
    if made.costs is not None:
        click.echo(made.costs.summary)
    for part, rows in made.rows().items():
        print_rows(_HEADINGS[part], rows)
