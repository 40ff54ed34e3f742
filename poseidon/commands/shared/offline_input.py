"""Reads the input of ``plan``, ``explain``, ``audit`` and ``get queues``: a cluster and a configuration."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poseidon.commands.shared.connection import connect, live_faults
from poseidon.commands.shared.options import config_option, output_option, together, wide_output_option
from poseidon.commands.shared.output_and_exit import bad_input, warn
from poseidon.kube.api.metadata import seconds

if TYPE_CHECKING:
    from poseidon.api.reading import ReadCluster
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.documents import Given
    from poseidon.manifests.loader import Manifests

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)

_YOUNG = 200_000
"""New objects after which Python collects garbage; reading a small folder creates fewer."""


class Moment(click.ParamType[float]):
    """Type of options: an RFC 3339 time, converted to seconds since the epoch."""

    name = "RFC3339"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Return the seconds since the epoch; if the text is no such time, end the command."""
        found = seconds(value.upper()) if _RFC3339.fullmatch(value) else None
        if found is None:
            remedy = "write one such as 2026-01-31T12:00:00Z"
            raise bad_input([f"--now: {value!r} is not an RFC 3339 time; {remedy}"])
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """The input that a command's options name, and the time to schedule at.

    ``now`` is that time in seconds since the epoch, or None for the present. ``paths`` are files and folders,
    ``kustomized`` are folders with a kustomization. If ``strict``, it is an error if two places state different
    contents for one object. ``assumed`` describes nodes to add to those of the cluster.
    """

    paths: tuple[str, ...] = ()
    config: Path | None = None
    now: float | None = None
    kustomized: tuple[str, ...] = ()
    strict: bool = False
    assumed: tuple[str, ...] = ()

    @property
    def names_files(self) -> bool:
        """Whether the options name files; otherwise the command reads a live cluster."""
        return bool(self.paths or self.kustomized)

    def read(self) -> ReadCluster:
        """Read configuration and manifests; if they have defects, print all defects and end with status 2."""
        from poseidon.api.errors import InputError
        from poseidon.api.reading import read_given

        if not self.names_files:
            raise click.UsageError("no manifests given; name files, folders or - with -f")
        given = (*self.paths, *self._assume_nodes())
        try:
            found = read_given(
                given, config=self.config, now=self.now, kustomize=self.kustomized, strict=self.strict
            )
        except InputError as error:
            raise bad_input(error.lines) from None
        warn(found.warnings)
        return found

    def _assume_nodes(self) -> list[Given]:
        from poseidon.manifests.assumed_nodes import parse_nodes
        from poseidon.manifests.documents import GivenObject

        try:
            parsed = list(parse_nodes(self.assumed))
        except ValueError as error:
            raise bad_input([f"--add-nodes: {error}"]) from None
        return [GivenObject(f"--add-nodes {text}", node) for text, nodes in parsed for node in nodes]

    def read_live(self) -> ReadCluster:
        """Read those objects of a live cluster that placement needs; objects with defects do not end the command."""
        from poseidon.api.reading import ReadCluster
        from poseidon.live.cluster import read_cluster

        configuration, transport = read_configuration(self.config), connect()

        async def read() -> Manifests:
            async with transport:
                return await read_cluster(transport, suspended=configuration.queues.enforces("kueue"))

        with live_faults(transport):
            manifests = asyncio.run(read())
        warn(manifests.warnings)
        return ReadCluster(manifests, configuration, time.time() if self.now is None else self.now)


def read_configuration(config: Path | None) -> BridgeConfiguration:
    """Read the configuration; if it has defects, end the command with status 2."""
    from poseidon.embedding import load_configuration
    from protos.configuration.file import ConfigurationError

    try:
        return load_configuration(config)
    except ConfigurationError as error:
        raise bad_input(error.lines) from None


_OPTIONS = (
    click.option(
        "-f",
        "--filename",
        "paths",
        multiple=True,
        metavar="PATH",
        help="Manifests: a file, a folder or - for standard input. May be repeated.",
    ),
    click.option(
        "-k",
        "--kustomize",
        "kustomized",
        multiple=True,
        metavar="DIR",
        help="Folder with a kustomization; kustomize or kubectl on PATH makes manifests of it. May be repeated.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Refuse an object that two places give differently; by default, the last place counts.",
    ),
    click.option(
        "--add-nodes",
        "assumed",
        multiple=True,
        metavar="COUNT[:RESOURCE=AMOUNT,...]",
        help="Assume more nodes, each of 4 cores and 16Gi unless stated: 3, or 2:cpu=8,nvidia.com/gpu=4. Repeatable.",
    ),
    config_option,
    click.option("--print-config", is_flag=True, help="Print the configuration with all defaults, and exit."),
    click.option(
        "--now", type=Moment(), help="The time to schedule at, such as 2026-01-31T12:00:00Z; default: now."
    ),
)


def offline_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with options for its input (its parameter ``source``) and for its ``output``."""
    return _add_options(command, output_option)


def wide_offline_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of ``offline_options``; its ``output`` may also be ``wide``."""
    return _add_options(command, wide_output_option)


def _add_options(command: Callable[..., None], output: Callable[[Any], Any]) -> Callable[..., None]:
    @wraps(command)
    def run(
        *,
        paths: tuple[str, ...],
        config: Path | None,
        now: float | None,
        print_config: bool,
        kustomized: tuple[str, ...],
        strict: bool,
        assumed: tuple[str, ...],
        **others: Any,
    ) -> None:
        if print_config:
            click.echo(read_configuration(config).effective_yaml(), nl=False)
        else:
            # Modules and objects live until the end, so collecting them would take time and free nothing.
            gc.set_threshold(_YOUNG, 20, 50)
            if assumed and not (paths or kustomized):
                raise click.UsageError("--add-nodes needs manifests; name files or folders with -f")
            try:
                command(source=Source(paths, config, now, kustomized, strict, assumed), **others)
            except ValueError as error:
                # This module imports the planner, which a question to a running solver does not need.
                from poseidon.api.errors import InputError

                # The error comes from the code that checks the cluster as a whole.
                if not isinstance(error, InputError):
                    raise
                raise bad_input(error.lines) from None

    return together(*_OPTIONS, output)(run)
