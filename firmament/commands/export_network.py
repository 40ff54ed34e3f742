"""``firmament export-network``: the network of the last solve, for other solvers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from firmament.commands.inspection_options import asking, solver_options


@click.command("export-network")
@solver_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; default: standard output.",
)
def export_network(*, target: str, cluster: str | None, timeout: float, output: Path | None) -> None:
    """Write the network of a running solver's last round as DIMACS text; its comments name nodes and arcs."""
    with asking(target, timeout) as client:
        network = client.network(client.cluster_named(cluster))
    if output is None:
        click.echo(network.dimacs, nl=False)
        return
    try:
        output.write_text(network.dimacs)
    except OSError as error:
        click.echo(f"{output}: cannot be written: {error.strerror}; name another file", err=True)
        sys.exit(2)
    click.echo(f"network of round {network.round} written to {output}", err=True)
