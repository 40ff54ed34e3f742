"""Options and connections of the commands that ask a running solver."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from protos.conventions.tls import TlsError, read_chosen_tls, tls_options

if TYPE_CHECKING:
    from firmament.inspection.client import SolverClient

Command = Callable[..., None]


def target_options(command: Command) -> Command:
    """Add the options to a command that name the solver and the TLS certificates for it."""
    option = click.option("--target", default="127.0.0.1:9090", metavar="HOST:PORT")
    return option(tls_options(command))


_cluster = click.option(
    "--cluster",
    help="Name of the cluster; default: the only one that the solver knows, or that has a driver connected.",
)
_timeout = click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    help="Seconds to wait for an answer.",
)


def connection_options(command: Command) -> Command:
    """Add the options to a command that name the solver and how long to wait for its answer."""
    return target_options(_timeout(command))


def solver_options(command: Command) -> Command:
    """Add the options to a command that name the solver, the cluster, and how long to wait for an answer."""
    return target_options(_cluster(_timeout(command)))


output_option = click.option("-o", "--output", type=click.Choice(("table", "json")), default="table")


@contextmanager
def asking(target: str, timeout: float) -> Iterator[SolverClient]:
    """Yield a client of the solver at ``target``.

    The program ends with one line of text if something fails: with status 1 if the solver does not answer a question,
    with status 2 if the options cannot be used.
    """
    from firmament.inspection.client import QuestionError, solver_client
    from firmament.server.access.address import AddressError, parse_address

    try:
        parse_address("--target", target, any_port=False)
        with solver_client(target, timeout, read_chosen_tls()) as client:
            yield client
    except (QuestionError, AddressError, TlsError) as error:
        click.echo(str(error), err=True)
        sys.exit(1 if isinstance(error, QuestionError) else 2)


def echo_json(document: Any) -> None:
    """Print a document as JSON, for programs."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
