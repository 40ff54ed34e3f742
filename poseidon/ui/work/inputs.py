"""What a job is about: manifests, or a live cluster as it is when the job begins."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests


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
    """What was read, the time that it is of, in seconds since the epoch, and what people should know of it."""

    manifests: Manifests
    configuration: BridgeConfiguration
    now: float
    note: str = ""


class UnreadableInputError(Exception):
    """The cluster cannot be read; the text is one line for people."""


def read(given: ClusterInput) -> Read:
    """Read manifests, once per process, or a live cluster, each time anew. Raises ``UnreadableInputError``."""
    return _read_files(given) if given.paths else _read_live(given)


@lru_cache(maxsize=1)
def _read_files(given: ClusterInput) -> Read:
    return _loaded(given.paths, given)


def _read_live(given: ClusterInput) -> Read:
    from poseidon.kube.client.errors import KubeError, SettingsError

    with TemporaryDirectory(prefix="poseidon-cluster-") as folder, TemporaryDirectory() as aside:
        try:
            shown = asyncio.run(_ask(given, Path(folder)))
        except (KubeError, SettingsError) as error:
            raise UnreadableInputError(f"the cluster cannot be read: {error}") from None
        if shown is None:
            note = "" if given.config else "No program shows its configuration: this is by the default one."
            return _loaded((folder,), given)._replace(note=note)
        config = Path(aside) / "configz.yaml"
        config.write_text(shown, encoding="utf-8")
        return _loaded((folder,), replace(given, config=str(config)))


async def _ask(given: ClusterInput, folder: Path) -> str | None:
    """Read the cluster into files of a folder, and return the configuration that is shown, if it is asked for."""
    from poseidon.kube.client.settings import load_settings
    from poseidon.kube.client.transport import Transport
    from poseidon.live.bundle import cluster_parts
    from poseidon.ui.program_pages import page

    settings = load_settings(Path(given.kubeconfig) if given.kubeconfig else None, given.context or None)
    async with Transport(settings, clock=time.monotonic) as transport:
        await transport.get("/version")
        async for part in cluster_parts(transport, ()):
            if not part.problem:
                (folder / Path(part.name).name).write_bytes(part.content)
    for url in () if given.config else given.configz:
        if (shown := await page(url)) is not None:
            return shown
    return None


def _loaded(paths: tuple[str, ...], given: ClusterInput) -> Read:
    from poseidon.embedding import load_configuration
    from poseidon.manifests.loader import ManifestError, load_manifests
    from protos.conventions.configuration_file import ConfigurationError

    try:
        configuration = load_configuration(Path(given.config) if given.config else None)
        manifests = load_manifests(paths)
    except (ConfigurationError, ManifestError) as error:
        raise UnreadableInputError("; ".join(error.lines)) from None
    return Read(manifests, configuration, time.time() if given.now is None else given.now)
