"""The ``poseidon`` command. Sub-commands are imported when they are used, so that ``--help`` is quick."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

import poseidon

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
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing to standard output fails with where the place behind it is full or broken."""


class _LazyGroup(click.Group):
    """Finds a sub-command in the module of its name, in an attribute of the same name, a hyphen as an underscore.

    Bad usage ends with one line on standard error and status 2, without click's repetition of the usage; Ctrl-C with
    status 130; standard output that cannot be written with one line and status 1.
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
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "poseidon"
            click.echo(f"{path}: {' '.join(error.format_message().split())}", err=True)
            sys.exit(error.exit_code)
        except click.ClickException as error:
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
        sys.exit(status if isinstance(status, int) else 0)

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


@click.group("poseidon", cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(poseidon.__version__, prog_name="poseidon")
def main() -> None:
    """Poseidon: places all waiting pods of a Kubernetes cluster at once."""
