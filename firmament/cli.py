"""The ``firmament`` command. Subcommands are imported when they are used, so that ``--help`` is quick."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import click

import firmament

_COMMANDS: Mapping[str, str] = MappingProxyType(
    {"serve": "firmament.commands.serve", "submit": "firmament.commands.submit"}
)


class _LazyGroup(click.Group):
    """Finds a subcommand in the module of its name, in an attribute of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        return cast("click.Command", getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name))


@click.group(cls=_LazyGroup)
@click.version_option(firmament.__version__, prog_name="firmament")
def main() -> None:
    """Firmament: the solver of a flow-network batch scheduler."""
