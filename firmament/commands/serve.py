"""``firmament serve``: runs the solver."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import firmament
from firmament.configuration.document import load
from firmament.server.access.address import AddressError, parse_address
from firmament.server.process_copy import allow_copies
from firmament.server.rounds.round_saver import ROUNDS_KEPT, SavedRoundsFolder, SavedRoundsFolderError
from protos.configuration.file import ConfigurationError
from protos.conventions import event_loop
from protos.conventions.logs import configure, logging_options
from protos.conventions.tls import TlsError, read_chosen_tls, tls_options
from protos.conventions.tracing import TracingError, tracer_of, tracing_option


@click.command()
@click.option(
    "--listen",
    default="127.0.0.1:9090",
    metavar="HOST:PORT",
    help="Address at which to serve gRPC; with port 0, the system chooses a port.",
)
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Scheduler configuration (YAML)."
)
@click.option("--print-config", is_flag=True, help="Print the configuration with all defaults, and exit.")
@click.option(
    "--metrics", metavar="HOST:PORT", help="Address at which to serve Prometheus metrics; off by default."
)
@tls_options
@click.option(
    "--tls-client",
    "tls_clients",
    multiple=True,
    metavar="NAME=CLUSTER",
    help="With TLS: a name in a client's certificate, and a cluster that it may drive (* for any). Repeatable.",
)
@click.option(
    "--artefacts",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder in which to save every round: problem, network, flow, deltas, costs. Off by default.",
)
@click.option(
    "--artefacts-rounds",
    type=click.IntRange(1, 1_000_000),
    default=ROUNDS_KEPT,
    metavar="N",
    help="The most saved rounds to keep; the oldest is deleted first.",
)
@tracing_option
@logging_options("info logs each round.")
def serve(
    listen: str,
    config: Path | None,
    print_config: bool,
    metrics: str | None,
    tls_clients: tuple[str, ...],
    artefacts: Path | None,
    artefacts_rounds: int,
    traces: str | None,
    log_level: str,
    log_format: str,
) -> None:
    """Run the solver, and serve gRPC until SIGTERM or Ctrl-C."""
    allow_copies()
    # grpc and the solver are imported only here, because ``--help`` does not need them.
    from firmament.server import solver_server
    from firmament.server.access.credentials import parse_clients

    try:
        configuration = load(config)
        if print_config:
            click.echo(configuration.effective_yaml(), nl=False)
            return
        configure(log_level, log_format)
        tls = read_chosen_tls()
        if bool(tls_clients) != (tls is not None):
            text = "--tls-client and --tls-cert go together: say which certificates may drive which cluster"
            click.echo(text, err=True)
            sys.exit(2)
        options = solver_server.ServeOptions(
            listen=parse_address("--listen", listen),
            metrics=None if metrics is None else parse_address("--metrics", metrics, any_port=False),
            saved_rounds=None if artefacts is None else SavedRoundsFolder(artefacts, artefacts_rounds),
            tls=tls,
            clients=parse_clients(tls_clients),
            tracer=tracer_of(traces, "firmament", firmament.__version__),
        )
        event_loop.run(solver_server.serve(configuration, options))
    except (ConfigurationError, AddressError, SavedRoundsFolderError, TlsError, TracingError) as error:
        click.echo(str(error), err=True)
        sys.exit(2)
