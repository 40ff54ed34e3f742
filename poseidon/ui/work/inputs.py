"""Reads the input of a job: manifests, or a live cluster as it is when the job begins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests
    from poseidon.offline.cluster import OfflineCluster

_NAMED = 3
"""How many of the objects that are left out are named; all further ones are only counted."""


@dataclass(frozen=True, slots=True)
class ClusterInput:
    """The input of a job in the worker process; a field that is "" is not given."""

    paths: tuple[str, ...] = ()
    """Manifests: files and folders; none for a live cluster."""
    kubeconfig: str = ""
    """File with the settings of the live cluster."""
    context: str = ""
    """Context in the kubeconfig."""
    config: str = ""
    """File with the scheduler's configuration."""
    configz: tuple[str, ...] = ()
    """Addresses at which programs show their configuration; without a file, the first program that answers counts."""
    now: float | None = None
    """The time of the input, in seconds since the epoch; None for the time when it is read."""
    suspended: bool = False
    """Whether the suspended Jobs of a live cluster are read, if the configuration reads Kueue's queues."""


class ReadInput(NamedTuple):
    """An input that was read: its objects, its time in seconds since the epoch, and lines for people."""

    manifests: Manifests
    configuration: BridgeConfiguration
    now: float
    note: str = ""


class UnreadableInputError(Exception):
    """Raised if the cluster cannot be read; the text is one line for people."""


def read(given: ClusterInput) -> ReadInput:
    """Read manifests (once per process) or a live cluster (each time).

    Raises ``UnreadableInputError`` if the input cannot be read.
    """
    return _read_files(given) if given.paths else _read_live(given)


@lru_cache(maxsize=1)
def _read_files(given: ClusterInput) -> ReadInput:
    return _load(given.paths, given)


def _read_live(given: ClusterInput) -> ReadInput:
    from poseidon.kube.client.errors import KubeError, SettingsError

    try:
        manifests, configuration, shown = asyncio.run(_ask(given))
    except (KubeError, SettingsError) as error:
        raise UnreadableInputError(f"the cluster cannot be read: {error}") from None
    notes = [*_describe_left_out(manifests.set_aside)]
    if not shown:
        notes.insert(0, "No program shows its configuration, so the default one is used.")
    now = time.time() if given.now is None else given.now
    return ReadInput(manifests, configuration, now, " ".join(notes))


def _describe_left_out(lines: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence about objects that are left out or used only in part; yield nothing if all are used."""
    if lines:
        more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
        yield f"Objects left out or used only in part: {'; '.join(lines[:_NAMED])}{more}."


async def _ask(given: ClusterInput) -> tuple[Manifests, BridgeConfiguration, bool]:
    """Read a live cluster and the configuration; also return whether a file or a program gave the configuration."""
    from poseidon.kube.client.settings import load_settings
    from poseidon.kube.client.transport import Transport
    from poseidon.live.cluster import read_cluster

    settings = load_settings(Path(given.kubeconfig) if given.kubeconfig else None, given.context or None)
    configuration, shown = await _find_configuration(given)
    suspended = given.suspended and configuration.queues.enforces("kueue")
    async with Transport(settings, clock=time.monotonic) as transport:
        return await read_cluster(transport, suspended=suspended), configuration, shown


async def _find_configuration(given: ClusterInput) -> tuple[BridgeConfiguration, bool]:
    """Return the file's configuration, or else that of the first program that serves one, or else the defaults.

    The second returned value says whether the configuration is not the default one.
    """
    from poseidon.ui.program_pages import read_page

    if given.config:
        return _configuration(Path(given.config)), True
    for url in given.configz:
        if (text := await read_page(url)) is not None:
            with TemporaryDirectory() as aside:
                file = Path(aside) / "configz.yaml"
                file.write_text(text, encoding="utf-8")
                return _configuration(file), True
    return _configuration(None), False


def build_cluster(found: ReadInput) -> OfflineCluster:
    """Return the input as a cluster with a solver in this process.

    Raises ``UnreadableInputError`` if the cluster cannot be built.
    """
    from poseidon.manifests.loader import ManifestError
    from poseidon.offline.cluster import build_offline_cluster

    try:
        return build_offline_cluster(found.manifests, found.configuration, found.now)
    except ManifestError as error:
        raise UnreadableInputError("; ".join(error.lines)) from None


def _configuration(path: Path | None) -> BridgeConfiguration:
    from poseidon.embedding import load_configuration
    from protos.configuration.file import ConfigurationError

    try:
        return load_configuration(path)
    except ConfigurationError as error:
        raise UnreadableInputError("; ".join(error.lines)) from None


def _load(paths: tuple[str, ...], given: ClusterInput) -> ReadInput:
    from poseidon.manifests.loader import ManifestError, load_manifests

    configuration = _configuration(Path(given.config) if given.config else None)
    try:
        manifests = load_manifests(paths)
    except ManifestError as error:
        raise UnreadableInputError("; ".join(error.lines)) from None
    return ReadInput(manifests, configuration, time.time() if given.now is None else given.now)
