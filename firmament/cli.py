"""The ``firmament`` command. Subcommands are imported when they are used, so that ``--help`` is quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import click

import firmament

_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "draw": "firmament.commands.draw",
        "explain": "firmament.commands.explain",
        "export-network": "firmament.commands.export_network",
        "get": "firmament.commands.get",
        "replay": "firmament.commands.replay",
        "serve": "firmament.commands.serve",
        "submit": "firmament.commands.submit",
    }
)


class _LazyGroup(click.Group):
    """Finds a subcommand in the module of its name, in an attribute of the same name, a hyphen as an underscore.

    Bad usage ends with one line on standard error and status 2, without click's repetition of the usage.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run as click does."""
        run: Callable[[], Any] = partial(
            super().main, args, prog_name, complete_var, standalone_mode=False, **extra
        )
        if not standalone_mode:
            return run()
        try:
            status = run()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.ClickException as error:
            click.echo(f"firmament: {' '.join(error.format_message().split())}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("interrupted", err=True)
            sys.exit(130)
        sys.exit(status if isinstance(status, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name])
        return cast("click.Command", getattr(module, cmd_name.replace("-", "_")))


@click.group(cls=_LazyGroup)
@click.version_option(firmament.__version__, prog_name="firmament")
def main() -> None:
    """Firmament: the solver of a flow-network batch scheduler."""
