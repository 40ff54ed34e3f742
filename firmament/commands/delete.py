"""``firmament delete``: makes a running solver forget a cluster that has ended."""

from __future__ import annotations

import click

from firmament.commands.inspection_options import asking, connection_options


@click.group()
def delete() -> None:
    """Make a running solver forget a cluster that has ended."""


@delete.command("cluster")
@click.argument("name")
@connection_options
def cluster(*, name: str, target: str, timeout: float) -> None:
    """Make the solver forget the cluster NAME, to which no driver may be connected."""
    with asking(target, timeout) as client:
        client.delete_cluster(name)
    click.echo(f"cluster {name} deleted")
