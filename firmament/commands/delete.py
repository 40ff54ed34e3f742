"""``firmament delete``: has a running solver forget what has ended."""

from __future__ import annotations

import click

from firmament.commands.inspection_options import asking, connection_options


@click.group()
def delete() -> None:
    """Have a running solver forget a cluster that has ended."""


@delete.command("cluster")
@click.argument("name")
@connection_options
def cluster(*, name: str, target: str, timeout: float) -> None:
    """Forget the cluster NAME, whose driver must not be connected."""
    with asking(target, timeout) as client:
        client.delete_cluster(name)
    click.echo(f"cluster {name} deleted")
