"""The command ``completion``, as in kubectl: prints a script that lets a shell complete a program's commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


def completion_command(program: str) -> click.Command:
    """Return the command ``completion`` of ``program``."""

    @click.command("completion")
    @click.argument("shell", type=click.Choice(SHELLS))
    @click.pass_context
    def completion(context: click.Context, shell: str) -> None:
        """Print a script for SHELL: source it, as in `source <(PROGRAM completion bash)`."""
        found = get_completion_class(shell)
        assert found is not None
        root = context.find_root().command
        click.echo(found(root, {}, program, f"_{program.upper()}_COMPLETE").source())

    return completion
