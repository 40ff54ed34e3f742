"""Base classes of commands, which end with one line on standard error if something is wrong, and their completion."""

from __future__ import annotations

import errno
import gc
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import get_completion_class

from protos.conventions.missing_parts import say_what_to_install
from protos.conventions.secrets import redact_credentials

_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing to standard output fails with where the place behind it is full or broken."""

_NAMED_BY = MappingProxyType({"-f": "files", "--pod": "the pod"})
"""What people write as words that commands take by options."""

_MEANT = MappingProxyType({"help": "--help", "version": "--version"})
"""What people write as commands that are options."""


class OneLineCommand(click.Command):
    """A command that ends with one line on standard error if something is wrong.

    The status is 2 for wrong usage (without click's repetition of the usage), 130 for Ctrl-C, and 1 if standard output
    cannot be written or a package is not installed.
    """

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command as click does, and exit."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            status = run(*args, standalone_mode=False, **extra)
        except click.ClickException as error:
            if isinstance(error, click.UsageError) and not isinstance(
                error, click.exceptions.NoArgsIsHelpError
            ):
                path = error.ctx.command_path if error.ctx else self.name
                message = " ".join(error.format_message().split()) + _say_how_to_name(error)
                click.echo(redact_credentials(f"{path}: {message}"), err=True)
            else:
                error.show()
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("interrupted", err=True)
            sys.exit(130)
        except OSError as error:
            if error.errno not in _UNWRITABLE or error.filename is not None:
                raise
            click.echo(f"the output cannot be written: {error.strerror}", err=True)
            sys.exit(1)
        except ModuleNotFoundError as error:
            line = say_what_to_install(error)
            if line is None:
                raise
            click.echo(f"{self.name}: {line}", err=True)
            sys.exit(1)
        sys.exit(status if isinstance(status, int) else 0)


def _say_how_to_name(error: click.UsageError) -> str:
    """Return an addition to the error for a surplus word: the options that take the place of kubectl's words."""
    if error.ctx is None or not error.message.startswith("Got unexpected extra argument"):
        return ""
    known = {name for parameter in error.ctx.command.params for name in parameter.opts}
    ways = [f"{what} with {name}" for name, what in _NAMED_BY.items() if name in known]
    return f"; name {' and '.join(ways)}" if ways else ""


class OneLineGroup(OneLineCommand, click.Group):
    """A group of commands that ends as ``OneLineCommand`` does."""


class LazyGroup(OneLineGroup):
    """A group that imports a sub-command when it is used, so that ``--help`` is quick.

    ``commands_in``: the package with a module for each command; module and function are named like the command, with
    underscores for hyphens. ``helps``: the help text of each command.
    """

    def __init__(self, *args: Any, commands_in: str, helps: Mapping[str, str], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._package = commands_in
        self._helps = helps

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(self._helps)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None if there is none of that name."""
        if cmd_name not in self._helps:
            return None
        name = cmd_name.replace("-", "_")
        # Objects of modules are never garbage: without this, each collection would visit them in vain.
        collecting = gc.isenabled()
        gc.disable()
        try:
            command = getattr(import_module(f"{self._package}.{name}"), name)
        finally:
            gc.freeze()
            if collecting:
                gc.enable()
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown command, fail with a proposal of a similar one."""
        name = args[0]
        if name not in self._helps and not name.startswith("-") and not ctx.resilient_parsing:
            close = [_MEANT[name]] if name in _MEANT else get_close_matches(name, self._helps, 1)
            remedy = f"Did you mean {close[0]!r}?" if close else f"`{ctx.command_path} --help` lists them."
            ctx.fail(f"No such command {name!r}. {remedy}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._helps.items()))


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
