"""Which API server and which solver a command is about, and how it ends when they cannot be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from protos.conventions.logs import one_line
from protos.conventions.tls import TlsError

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from poseidon.kube.client.transport import Transport

F = TypeVar("F", bound=Callable[..., Any])


class HostPort(click.ParamType[tuple[str, int]]):
    """``HOST:PORT``; an IPv6 host stands in brackets."""

    name = "HOST:PORT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return host and port, or end the command."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            self.fail(f"{value!r} is not HOST:PORT; write for example 127.0.0.1:9090", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


def joined(address: tuple[str, int]) -> str:
    """Return an address as gRPC takes it, and as people write it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def solver_options(command: F) -> F:
    """Add the options that say which solver is meant, and by what name it knows the cluster."""
    for option in (
        click.option(
            "--cluster-name",
            default="default",
            show_default=True,
            help="Name of this cluster in the solver.",
        ),
        click.option(
            "--firmament",
            type=HostPort(),
            multiple=True,
            default=["127.0.0.1:9090"],
            show_default=True,
            help="Address of the solver. Repeatable: when one does not answer, the next is asked.",
        ),
    ):
        command = option(command)
    return command


def connection_options(command: F) -> F:
    """Add the options that say which API server is meant."""
    for option in (
        click.option("--context", help="Context of the kubeconfig; default: its current one."),
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Kubeconfig file; default as kubectl, then in-cluster.",
        ),
    ):
        command = option(command)
    return command


def connect(kubeconfig: Path | None, context: str | None) -> Transport:
    """Return a client of the API server; settings that cannot be used end the command with status 2."""
    from poseidon.kube.client.errors import SettingsError
    from poseidon.kube.client.settings import load_settings
    from poseidon.kube.client.transport import Transport

    try:
        settings = load_settings(kubeconfig, context)
    except SettingsError as error:
        raise fault(str(error)) from None
    return Transport(settings, clock=time.monotonic)


@contextmanager
def live_faults(transport: Transport) -> Iterator[None]:
    """End the command with a line if the API server, or the solver that it asks, does not answer as it should."""
    from poseidon.kube.client.errors import KubeError
    from poseidon.live.solver import NoAnswerError

    try:
        yield
    except TlsError as error:
        raise fault(str(error)) from None
    except KubeError as error:
        raise fault(one_line(f"{transport.server}: {error}"), 1) from None
    except NoAnswerError as error:
        raise fault(one_line(f"no solver answers: {error}; name it with --firmament"), 1) from None


def serve_metrics(address: tuple[str, int] | None, answer: WSGIApplication) -> None:
    """Answer at an address, None for none; one that cannot be had ends the command with status 2."""
    if address is None:
        return
    from protos.conventions.probes import serve

    host, port = address
    try:
        serve(host, port, answer)
    except OSError as error:
        click.echo(f"--metrics {joined(address)}: cannot listen: {error.strerror or error}", err=True)
        raise SystemExit(2) from None


def fault(message: str, status: int = 2) -> SystemExit:
    """Print a line to standard error, and return what ends the command."""
    click.echo(message, err=True)
    return SystemExit(status)
