"""Options that name a command's API server and solver, and the ends of the command if these cannot be used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from poseidon.commands.shared.options import HostPort, together
from poseidon.commands.shared.output_and_exit import fault
from protos.conventions.logs import one_line
from protos.conventions.tls import TlsError

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

    from poseidon.kube.client.settings import ConnectionSettings
    from poseidon.kube.client.transport import Transport

_META = "poseidon.connection"


class Solvers(NamedTuple):
    """Addresses of a command's solvers, and the cluster's name in them.

    ``targets`` are the addresses, in the order in which they are tried; ``cluster`` is the name under which the
    solvers know the cluster.
    """

    targets: tuple[str, ...]
    cluster: str


def join_address(address: tuple[str, int]) -> str:
    """Return host and port as one address, in the form that gRPC and people use."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_META, {})[parameter.name] = value


def _get_given(name: str) -> Any:
    return click.get_current_context().meta[_META][name]


solver_options = together(
    click.option(
        "--firmament",
        type=HostPort(),
        multiple=True,
        default=["127.0.0.1:9090"],
        expose_value=False,
        callback=_remember,
        help="Address of the solver. Repeatable: if one does not answer, the next one is tried.",
    ),
    click.option(
        "--cluster-name",
        default="default",
        expose_value=False,
        callback=_remember,
        help="Name under which the solver knows this cluster.",
    ),
)
"""Options that name the solvers and the cluster's name in them; ``get_chosen_solvers`` returns their values."""

connection_options = together(
    click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_remember,
        help="Kubeconfig file; default: the one that kubectl uses, or else the service account of the pod.",
    ),
    click.option(
        "--context",
        expose_value=False,
        callback=_remember,
        help="Context of the kubeconfig; default: its current one.",
    ),
)
"""Options that name the API server; ``connect`` returns a client of that server."""


def get_chosen_solvers() -> Solvers:
    """Return the solvers that the command's options name."""
    return Solvers(tuple(map(join_address, _get_given("firmament"))), _get_given("cluster_name"))


def names_cluster() -> bool:
    """Return whether the command's options name an API server."""
    return any(get_chosen_context())


def get_chosen_context() -> tuple[Path | None, str | None]:
    """Return the kubeconfig and the context that the command's options name."""
    return _get_given("kubeconfig"), _get_given("context")


def connection_settings() -> ConnectionSettings:
    """Return the settings of the connection to the API server; if they are unusable, end the command with status 2."""
    from poseidon.kube.client.errors import SettingsError
    from poseidon.kube.client.settings import load_settings

    try:
        return load_settings(*get_chosen_context())
    except SettingsError as error:
        raise fault(str(error)) from None


def connect() -> Transport:
    """Return a client of the API server; if its settings are unusable, end the command with status 2."""
    from poseidon.kube.client.transport import Transport

    return Transport(connection_settings(), clock=time.monotonic)


@contextmanager
def live_faults(transport: Transport) -> Iterator[None]:
    """End the command with one line if the API server or the solver fails to answer within the ``with`` block."""
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
    """Serve metrics at ``address`` unless it is None; if the address cannot be used, end the command with status 2."""
    if address is None:
        return
    from protos.conventions.probes import serve

    try:
        serve(*address, answer)
    except OSError as error:
        message = f"--metrics {join_address(address)}: cannot listen: {error.strerror or error}"
        raise fault(message) from None
