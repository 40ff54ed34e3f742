"""``firmament export-network``: writes a round's flow network, for other solvers and tools that draw graphs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from firmament.commands.inspection_options import asking, solver_options

FORMATS = ("dimacs", "graphml", "gml", "node-link")


@click.command("export-network")
@solver_options
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="dimacs",
    help="DIMACS text, or a graph as GraphML, GML or networkx' node-link JSON.",
)
@click.option(
    "--saved",
    type=click.Path(path_type=Path, file_okay=False),
    help="Read the network and its flow from the round saved in this folder, instead of asking a solver.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; default: standard output.",
)
def export_network(
    *,
    target: str,
    cluster: str | None,
    timeout: float,
    form: str,
    saved: Path | None,
    output: Path | None,
) -> None:
    """Write the flow network of a running solver's last round, or of a saved round.

    DIMACS text names the network's nodes and arcs in its comments. The other formats are graphs with costs,
    capacities and names as attributes; the graph of a saved round also has the flow. In Python, networkx.read_graphml
    reads a GraphML file.
    """
    if saved is not None:
        content, named = _read_saved(saved, form), str(saved)
    else:
        with asking(target, timeout) as client:
            network = client.network(client.cluster_named(cluster))
        content, named = _encode(network.dimacs, form), f"round {network.round}"
    if output is None:
        click.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        click.echo(f"{output}: cannot be written: {error.strerror}; name another file", err=True)
        sys.exit(2)
    click.echo(f"network of {named} written to {output}", err=True)


def _encode(dimacs: str, form: str) -> bytes:
    if form == "dimacs":
        return dimacs.encode()
    from firmament.saved_rounds.graphs import from_dimacs, write_graph

    return write_graph(from_dimacs(dimacs), form)


def _read_saved(folder: Path, form: str) -> bytes:
    """Return the network of a saved round; if the round cannot be read, exit with status 2."""
    from firmament.saved_rounds import SavedRoundError
    from firmament.saved_rounds.description import read_description
    from firmament.saved_rounds.graphs import read_graph, write_graph
    from firmament.server.rounds.round_saver import read_round

    try:
        if form == "dimacs":
            return (folder / "network.dimacs").read_bytes()
        files = read_round(folder)
        return write_graph(read_graph(files, read_description(files)), form)
    except (SavedRoundError, OSError) as error:
        click.echo(f"{folder}: {error}", err=True)
        sys.exit(2)
