"""A live cluster, read once as placement sees it, as if from files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from poseidon.commands.connection import live_faults
from poseidon.commands.offline_options import OfflineInput, read_input
from protos.conventions.logs import one_line

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


def read_live(transport: Transport, config: Path | None, now: float | None) -> OfflineInput:
    """Read what placement sees of a live cluster, as from files."""
    from poseidon.live.bundle import cluster_parts

    async def listed(folder: Path) -> None:
        async with transport:
            await transport.get("/version")  # a server that does not answer is told at once
            async for part in cluster_parts(transport, ()):
                if part.problem:
                    click.echo(f"warning: {one_line(f'{part.name}: {part.problem}')}", err=True)
                else:
                    (folder / Path(part.name).name).write_bytes(part.content)

    with TemporaryDirectory(prefix="poseidon-cluster-") as name:
        with live_faults(transport):
            asyncio.run(listed(Path(name)))
        return read_input((name,), config, now)
