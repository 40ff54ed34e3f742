"""The ``poseidon`` command. Sub-commands are imported when they are used, so that ``--help`` is quick."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

import poseidon

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "bandwidth-agent": "Advertise the bandwidth of the node that it runs on.",
        "demo": "Schedule an example application on a simulated cluster.",
        "explain": "Say, for one pod and every node: feasible or why not, and the cost.",
        "netperf-probe": "Measure latencies between zones and regions, or answer those who do.",
        "plan": "Say what would be bound where, and why the rest would wait.",
        "run": "Bridge a Kubernetes cluster to a solver.",
    }
)


class _LazyGroup(click.Group):
    """Finds a sub-command in the module of its name, as an attribute of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"poseidon.commands.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table above, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(poseidon.__version__, prog_name="poseidon")
def main() -> None:
    """Poseidon: places all waiting pods of a Kubernetes cluster at once."""
