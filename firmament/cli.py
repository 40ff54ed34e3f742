"""The ``firmament`` command. See ``command_line`` for how it finds its sub-commands, and ends."""

from __future__ import annotations

import click

import firmament
from protos.conventions.command_line import LazyGroup

_COMMANDS = {
    "completion": "Print a script with which a shell completes commands and options.",
    "delete": "Make a running solver forget a cluster that has ended.",
    "draw": "Draw the flow network that each base policy makes of a small example.",
    "explain": "Say whether one task may use each machine, why not, and at what cost.",
    "export-network": "Write the flow network of a round as DIMACS text or as a graph.",
    "get": "List what a running solver knows: clusters, tasks, machines.",
    "replay": "Solve saved rounds again, and compare the results.",
    "serve": "Run the solver.",
    "submit": "Send simulated machines and tasks to a running solver.",
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
