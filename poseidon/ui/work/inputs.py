"""The input of a job: manifests, or a live cluster as it is when the job begins."""

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
"""How many objects that are set aside are named; of the others it is said how many they are."""


@dataclass(frozen=True, slots=True)
class ClusterInput:
    """``paths`` of manifests; none: a live cluster, by ``kubeconfig`` and ``context``. ``now`` None: when it is read.

    ``config`` is a file; without one counts what the first of ``configz`` shows that answers. "" stands for what is not
    given.
    """

    paths: tuple[str, ...] = ()
    kubeconfig: str = ""
    context: str = ""
    config: str = ""
    configz: tuple[str, ...] = ()
    now: float | None = None


class Read(NamedTuple):
    """The input that was read, its time in seconds since the epoch, and lines for people."""

    manifests: Manifests
    configuration: BridgeConfiguration
    now: float
    note: str = ""


class UnreadableInputError(Exception):
    """The cluster cannot be read; the text is one line for people."""


def read(given: ClusterInput) -> Read:
    """Read manifests (once per process) or a live cluster (each time). Raises ``UnreadableInputError``."""
    return _read_files(given) if given.paths else _read_live(given)


@lru_cache(maxsize=1)
def _read_files(given: ClusterInput) -> Read:
    return _load(given.paths, given)


def _read_live(given: ClusterInput) -> Read:
    from poseidon.kube.client.errors import KubeError, SettingsError

    try:
        manifests, shown = asyncio.run(_ask(given))
    except (KubeError, SettingsError) as error:
        raise UnreadableInputError(f"the cluster cannot be read: {error}") from None
    notes = [*_set_aside(manifests.set_aside)]
    with TemporaryDirectory() as aside:
        config = Path(given.config) if given.config else None
        if shown is not None:
            config = Path(aside) / "configz.yaml"
            config.write_text(shown, encoding="utf-8")
        elif config is None:
            notes.insert(0, "No program shows its configuration: this is by the default one.")
        configuration = _configuration(config)
    now = time.time() if given.now is None else given.now
    return Read(manifests, configuration, now, " ".join(notes))


def _set_aside(lines: tuple[str, ...]) -> Iterator[str]:
    """Yield a line that names the objects of a cluster that are left out or used in part."""
    if lines:
        more = f"; and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
        yield f"Set aside in part or whole: {'; '.join(lines[:_NAMED])}{more}."


async def _ask(given: ClusterInput) -> tuple[Manifests, str | None]:
    """Read the live cluster, and the configuration that a running program serves unless a file of it is given."""
    from poseidon.kube.client.settings import load_settings
    from poseidon.kube.client.transport import Transport
    from poseidon.live.cluster import read_cluster
    from poseidon.ui.program_pages import page

    settings = load_settings(Path(given.kubeconfig) if given.kubeconfig else None, given.context or None)
    async with Transport(settings, clock=time.monotonic) as transport:
        manifests = await read_cluster(transport)
    for url in () if given.config else given.configz:
        if (shown := await page(url)) is not None:
            return manifests, shown
    return manifests, None


def build_cluster(found: Read) -> OfflineCluster:
    """Return the input as a cluster with a scheduler in this process. Raises ``UnreadableInputError``."""
    from poseidon.manifests.loader import ManifestError
    from poseidon.offline.cluster import build_offline_cluster

    try:
        return build_offline_cluster(found.manifests, found.configuration, found.now)
    except ManifestError as error:
        raise UnreadableInputError("; ".join(error.lines)) from None


def _configuration(path: Path | None) -> BridgeConfiguration:
    from poseidon.embedding import load_configuration
    from protos.conventions.configuration_file import ConfigurationError

    try:
        return load_configuration(path)
    except ConfigurationError as error:
        raise UnreadableInputError("; ".join(error.lines)) from None


def _load(paths: tuple[str, ...], given: ClusterInput) -> Read:
    from poseidon.manifests.loader import ManifestError, load_manifests

    configuration = _configuration(Path(given.config) if given.config else None)
    try:
        manifests = load_manifests(paths)
    except ManifestError as error:
        raise UnreadableInputError("; ".join(error.lines)) from None
    return Read(manifests, configuration, time.time() if given.now is None else given.now)
