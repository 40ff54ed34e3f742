"""What somebody needs who helps from afar, in one archive: the cluster, what the programs say, what doctor finds.

Objects are as ``poseidon plan`` reads them, each cut down to the fields that the bridge decodes: containers'
environments, commands and probes, parameters of storage classes, and whatever else may hold secrets, are left behind.
Annotations stay that are on a list (``poseidon.live.kept``), no others. Credentials are cut out of URLs wherever they
stand. A part that cannot be had is told, and the rest goes on.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec

import poseidon
from poseidon.doctor.findings import Finding
from poseidon.kube.api import collections
from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.resource import Resource
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.transport import Transport
from poseidon.live.kept import keep
from poseidon.live.solver import NoAnswerError, state_of
from poseidon.metrics_sources.koordinator import NODE_METRICS
from protos.conventions.secrets import cut_credentials, cut_urls
from protos.conventions.tls import TlsError, TlsFiles

COLLECTIONS: tuple[Resource[Any], ...] = (
    collections.NODES,
    collections.NAMESPACES,
    collections.PRIORITY_CLASSES,
    collections.SERVICES,
    collections.STORAGE_CLASSES,
    collections.CSI_NODES,
    collections.CSI_DRIVERS,
    collections.STORAGE_CAPACITIES,
    collections.VOLUMES,
    collections.CLAIMS,
    collections.BUDGETS,
    collections.POD_GROUPS,
    collections.WORKLOADS,
    collections.NATIVE_POD_GROUPS,
    collections.GROUP_MAPS,
    collections.APP_GROUPS,
    collections.NETWORK_TOPOLOGIES,
    collections.NODE_TOPOLOGIES,
    NODE_METRICS,
    collections.PODS,
)

_PAGE = 500

FOLDER = "support-bundle"
PAGES = ("configz", "metrics", "readyz")
MOST_ROUNDS = 20
_PAGE_SECONDS = 10.0
_MOST_BYTES = 64 << 20


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] = msgspec.field(default_factory=list)
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    apiVersion: str = ""  # noqa: N815 - the API's name
    kind: str = ""


async def objects_of(
    transport: Transport, resource: Resource[Any], annotations: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the objects of a collection in the first version that is served, none if none is.

    ``annotations``: keys that stay beside those that placement reads. Raises ``KubeError`` and ``msgspec.DecodeError``.
    """
    for version in resource.versions():
        try:
            return await _pages(transport, version, frozenset(annotations))
        except ApiError as error:
            if not error.not_found:
                raise
    return []


async def _pages(
    transport: Transport, resource: Resource[Any], annotations: frozenset[str]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    more = {"limit": str(_PAGE)}
    while True:
        page = msgspec.json.decode(await transport.get(resource.path, resource.query(**more)), type=_Page)
        kind = page.kind.removesuffix("List")
        for raw in page.items:
            cut = cut_object(raw, resource.kind, annotations)
            if cut is not None:
                found.append({"apiVersion": page.apiVersion, "kind": kind, **cut})
        token = page.metadata.get("continue")
        if not token:
            return found
        more["continue"] = token


def cut_object(
    raw: bytes | msgspec.Raw, kind: type[KubeStruct], annotations: frozenset[str] = frozenset()
) -> dict[str, Any] | None:
    """Return what a bundle has of an object as the API server sends it, None if it is not what its kind says."""
    try:
        cut: dict[str, Any] = msgspec.to_builtins(decode_object(raw, kind))
    except MalformedObjectError:
        return None  # the bridge sets it aside as well
    return keep(kind.__name__, cut, annotations)


class Part(NamedTuple):
    """A file of the archive; ``problem`` says why there is none, "" if there is."""

    name: str
    content: bytes
    problem: str = ""


async def cluster_parts(transport: Transport, annotations: Sequence[str]) -> AsyncIterator[Part]:
    """Yield one file per collection that has objects, to be read by ``poseidon plan -f``."""
    for resource in COLLECTIONS:
        name = f"cluster/{resource.name}.json"
        try:
            found = await objects_of(transport, resource, annotations)
        except (KubeError, msgspec.DecodeError) as error:
            yield Part(name, b"", cut_credentials(str(error)))
            continue
        if found:
            yield Part(name, _json({"apiVersion": "v1", "kind": "List", "items": found}))


async def version_part(transport: Transport) -> Part:
    """Return which versions these are."""

    async def versions() -> bytes:
        served = msgspec.json.decode(await transport.get("/version"))
        return _json({"poseidon": poseidon.__version__, "kubernetes": served})

    return await _attempt("versions.json", versions)


async def solver_part(targets: Sequence[str], cluster: str, seconds: float, tls: TlsFiles | None) -> Part:
    """Return what a running solver knows of tasks and machines."""

    async def state() -> bytes:
        return _json(await state_of(targets, cluster, seconds, tls))

    return await _attempt("solver/state.json", state)


async def page_parts(program: str, url: str) -> AsyncIterator[Part]:
    """Yield what a program says of itself at the address of its metrics."""
    timeout = aiohttp.ClientTimeout(total=_PAGE_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        for page in PAGES:

            async def read(page: str = page) -> bytes:
                async with session.get(f"{url.rstrip('/')}/{page}") as answer:
                    text = (await answer.content.read(_MOST_BYTES)).decode("utf-8", "replace")
                    return cut_credentials(text).encode()

            yield await _attempt(f"{program}/{page}.txt", read)


def round_parts(folder: Path, most: int = MOST_ROUNDS) -> Iterator[Part]:
    """Yield the files of the latest rounds that a solver has saved in a folder, to be read by ``firmament replay``."""
    try:
        rounds = sorted(each for each in folder.iterdir() if each.is_dir() and each.name.startswith("round-"))
        files = [file for each in rounds[-most:] for file in sorted(each.iterdir())]
        for file in files:
            content = file.read_bytes()
            if file.suffix == ".json":
                content = cut_credentials(content.decode("utf-8", "replace")).encode()
            yield Part(f"rounds/{file.parent.name}/{file.name}", content)
    except OSError as error:
        yield Part("rounds", b"", f"{error.filename or folder}: {error.strerror}")


def doctor_part(findings: Iterable[Finding]) -> Part:
    """Return what ``poseidon doctor`` has found."""
    return Part("doctor.json", _json([each.as_json() for each in findings]))


async def _attempt(name: str, make: Callable[[], Awaitable[bytes]]) -> Part:
    try:
        return Part(name, await make())
    except (
        KubeError,
        NoAnswerError,
        TlsError,
        aiohttp.ClientError,
        TimeoutError,
        msgspec.DecodeError,
    ) as error:
        return Part(name, b"", cut_credentials(str(error)) or type(error).__name__)


def archive(parts: Sequence[Part], moment: float) -> bytes:
    """Return the parts as a compressed archive, with a file that says what is in it, and what could not be had."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for part in (Part("README.txt", _read_me(parts)), *parts):
            if part.problem:
                continue
            entry = tarfile.TarInfo(f"{FOLDER}/{part.name}")
            entry.size, entry.mtime, entry.mode = len(part.content), int(moment), 0o600
            tar.addfile(entry, io.BytesIO(part.content))
    return packed.getvalue()


def _read_me(parts: Sequence[Part]) -> bytes:
    lines = [
        "What is wrong with a cluster can be looked at with these files:",
        "",
        f"  poseidon plan -f {FOLDER}/cluster",
        f"  poseidon explain -f {FOLDER}/cluster --pod NAMESPACE/NAME",
        "",
        "Objects hold the fields and annotations that placement reads, and no others: no environments, commands or",
        "secrets. Credentials are cut out of URLs. Labels are there, all of them.",
        "",
        *(f"{each.name}: {each.problem or f'{len(each.content)} bytes'}" for each in parts),
    ]
    return ("\n".join(lines) + "\n").encode()


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(cut_urls(value)), indent=1)
