"""The ``firmament`` command. See ``command_line`` for how it finds its sub-commands, and ends."""

from __future__ import annotations

import click

import firmament
from protos.conventions.command_line import LazyGroup

_COMMANDS = {
    "completion": "Print a script that teaches a shell the commands and options.",
    "delete": "Have a running solver forget a cluster that has ended.",
    "draw": "Draw the network of every base policy on a small example.",
    "explain": "Say, for one task and every machine: feasible or why not, and the cost.",
    "export-network": "Write the network of the last round as DIMACS text.",
    "get": "List what a running solver knows: clusters, tasks, machines.",
    "replay": "Run saved rounds again, and compare.",
    "serve": "Run the solver.",
    "submit": "Drive a running solver with simulated machines and tasks.",
}


@click.group(
    "firmament",
    cls=LazyGroup,
    commands_in="firmament.commands",
    helps=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(firmament.__version__, prog_name="firmament")
def main() -> None:
    """Run the solver of a flow-network batch scheduler, and ask it questions."""
