"""``firmament explain``: says which machines a task may use, or what would have to move for it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from firmament.commands.inspection_options import asking, echo_json, output_option, solver_options


@click.command("explain")
@click.argument("task")
@click.option(
    "--path",
    "machine",
    metavar="MACHINE",
    help="Say which tasks would have to move so that TASK, here a class of the saved round, could be on MACHINE.",
)
@click.option(
    "--saved",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --path: the folder of the saved round.",
)
@solver_options
@output_option
def explain(
    *,
    task: str,
    machine: str | None,
    saved: Path | None,
    target: str,
    cluster: str | None,
    timeout: float,
    output: str,
) -> None:
    """Say for every machine whether TASK, a name or a uid, may use it, why not, and what each model charges."""
    if (machine is None) != (saved is None):
        raise click.UsageError("--path and --saved go together: name a machine and a saved round")
    if machine is not None and saved is not None:
        _explain_path(task, machine, saved, output)
        return
    with asking(target, timeout) as client:
        named = client.cluster_named(cluster)
        explanation = client.explanation(named, client.uid_of(named, task))
    if output == "json":
        from firmament.inspection.documents import explanation_document

        echo_json(explanation_document(explanation))
        return
    from firmament.inspection.tables import print_explanation

    print_explanation(explanation)


def _explain_path(task: str, machine: str, folder: Path, output: str) -> None:
    """Print the cheapest way of a task to a machine in a saved round.

    Exit with status 2 if the round cannot be used.
    """
    from firmament.saved_rounds import SavedRoundError
    from firmament.saved_rounds.graphs import read_graph
    from firmament.saved_rounds.rerouting import describe_rerouting, find_rerouting
    from firmament.saved_rounds.saving import decode_round
    from firmament.server.rounds.round_saver import read_round

    try:
        files = read_round(folder)
        saved = decode_round(files)
        found = find_rerouting(saved, read_graph(files, saved.description), task, machine)
    except (SavedRoundError, OSError) as error:
        click.echo(f"{folder}: {error}", err=True)
        sys.exit(2)
    if output == "json":
        echo_json({"task": task, "machine": machine, "path": None if found is None else asdict(found)})
        return
    click.echo("\n".join(describe_rerouting(found, task, machine)))
