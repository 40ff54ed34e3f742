"""``poseidon support-bundle``: writes an archive for somebody who helps without access to the cluster."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.doctor import examine
from poseidon.commands.run import bridge_options
from poseidon.commands.shared.connection import (
    connect,
    connection_options,
    get_chosen_solvers,
    solver_options,
)
from poseidon.commands.shared.options import config_option
from poseidon.commands.shared.output_and_exit import fault, warn
from protos.conventions.number_formats import format_count
from protos.conventions.tls import tls_options

if TYPE_CHECKING:
    from poseidon.bridge.options import BridgeOptions
    from poseidon.kube.client.transport import Transport
    from poseidon.live.support_bundle import Part


_SOLVER_SECONDS = 30.0


@click.command("support-bundle")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@connection_options
@solver_options
@config_option
@click.option(
    "--bridge-url",
    metavar="URL",
    help="Address of the bridge's metrics; adds the bridge's metrics and configuration to the archive.",
)
@click.option(
    "--solver-url",
    metavar="URL",
    help="Address of the solver's metrics; adds the solver's metrics and configuration to the archive.",
)
@click.option(
    "--annotation",
    multiple=True,
    metavar="KEY",
    help="An annotation to keep in the archive, besides those that placement reads. May be repeated.",
)
@click.option(
    "--rounds",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of saved rounds (`firmament serve --artefacts`), of which the latest 20 are added.",
)
@tls_options
def support_bundle(
    *,
    file: Path,
    config: Path | None,
    bridge_url: str | None,
    solver_url: str | None,
    annotation: tuple[str, ...],
    rounds: Path | None,
) -> None:
    """Write FILE, an archive (.tar.gz) of the cluster's objects and the programs' state, without secrets.

    The archive holds the objects that placement reads. The command changes nothing in the cluster. The command leaves
    out what it cannot read, and the bundle says so.
    """
    from poseidon.live.support_bundle import archive, round_parts

    transport = connect()
    try:
        options = bridge_options(config, None)
    except ValueError as error:
        raise fault(str(error)) from None
    urls = {"bridge": bridge_url, "solver": solver_url}
    parts = asyncio.run(_gather(transport, options, urls, annotation))
    parts += round_parts(rounds) if rounds is not None else ()
    for part in parts:
        if part.problem:
            warn([f"{part.name}: {part.problem}"])
        warn(part.left_out)
    if not any(part.content for part in parts if part.name.startswith("cluster/")):
        raise fault("nothing of the cluster could be read; no archive was written", 1)
    try:
        file.write_bytes(archive(parts, time.time()))
        file.chmod(0o600)
    except OSError as error:
        raise fault(f"{file}: {error.strerror}") from None
    click.echo(f"wrote {file}: {format_count(sum(not part.problem for part in parts), 'file')}")


async def _gather(
    transport: Transport, options: BridgeOptions, urls: dict[str, str | None], annotations: tuple[str, ...]
) -> list[Part]:
    from poseidon.live.support_bundle import (
        cluster_parts,
        collect_solver_state,
        doctor_part,
        page_parts,
        version_part,
    )

    async with transport:
        parts = [await version_part(transport)]
        parts += [each async for each in cluster_parts(transport, annotations)]
        parts.append(await collect_solver_state(*get_chosen_solvers(), _SOLVER_SECONDS, options.session.tls))
        for program, url in urls.items():
            if url:
                parts += [each async for each in page_parts(program, url)]
        parts.append(doctor_part(await examine(transport, options)))
    return parts
