"""Writes a support bundle for a person who helps remotely: the cluster, the programs' pages, and doctor's findings.

Objects have the form that ``poseidon plan`` reads, and only the fields that the bridge decodes. Places for secrets
are left out, such as containers' environments, commands and probes, and parameters of storage classes. Annotations
are kept only if they are on a list (``poseidon.live.redaction``). Credentials in URLs are removed. If a part is
unavailable, the bundle says so and contains the rest.
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
from poseidon.kube.api.decoding import MalformedObjectError, decode_page
from poseidon.kube.api.kinds import FOLLOWED
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.resource import Resource
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.transport import Transport
from poseidon.live.redaction import redact_object
from poseidon.live.solver import NoAnswerError, read_state
from poseidon.manifests.documents import HELD_LIST
from protos.conventions.logs import one_line
from protos.conventions.secrets import redact_credentials, redact_urls
from protos.conventions.tls import TlsError, TlsFiles

COLLECTIONS = tuple(kind.resource for kind in FOLLOWED if kind.bundled)
"""The collections of objects that placement reads."""

_PAGE = 500

FOLDER = "support-bundle"
PAGES = ("configz", "metrics", "readyz")
MOST_ROUNDS = 20
_PAGE_SECONDS = 10.0
_MOST_BYTES = 64 << 20


class CollectionObjects(NamedTuple):
    """The objects of one collection of a live cluster, with only the fields that the bridge decodes.

    ``left_out`` has a line for each object that cannot be read. ``problem`` says why the collection could not be
    listed, or is "".
    """

    name: str
    objects: tuple[dict[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    problem: str = ""


async def list_collections(
    transport: Transport, annotations: Sequence[str] = ()
) -> AsyncIterator[CollectionObjects]:
    """Yield each collection's objects in its first served version, or no objects if no version is served.

    ``annotations`` has the keys of annotations that are kept in addition to those that placement reads.
    """
    for resource in COLLECTIONS:
        yield await list_collection(transport, resource, annotations)


async def list_collection(
    transport: Transport, resource: Resource[Any], annotations: Sequence[str] = ()
) -> CollectionObjects:
    """Return the objects of one collection; the arguments are those of ``list_collections``."""
    try:
        return await _fetch(transport, resource, frozenset(annotations))
    except (KubeError, MalformedObjectError) as error:
        return CollectionObjects(resource.name, problem=redact_credentials(str(error)))


async def _fetch(
    transport: Transport, resource: Resource[Any], annotations: frozenset[str]
) -> CollectionObjects:
    for version in resource.versions():
        try:
            return await _pages(transport, version, annotations)
        except ApiError as error:
            if not error.not_found:
                raise
    return CollectionObjects(resource.name)


async def _pages(
    transport: Transport, resource: Resource[Any], annotations: frozenset[str]
) -> CollectionObjects:
    found: list[dict[str, Any]] = []
    left_out: list[str] = []
    more = {"limit": str(_PAGE)}
    while True:
        page = decode_page(await transport.get(resource.path, resource.query(**more)), resource.kind)
        kind = page.kind.removesuffix("List")
        named = {"apiVersion": page.api_version, "kind": kind}
        found.extend({**named, **reduce_object(item, annotations)} for item in page.items)
        left_out.extend(
            f"{kind} {_name(each.metadata)}: cannot be read and is left out: {each.problem}"
            for each in page.rejected
        )
        if not page.continue_token:
            return CollectionObjects(resource.name, tuple(found), tuple(left_out))
        more["continue"] = page.continue_token


def _name(metadata: ObjectMeta) -> str:
    return "/".join(part for part in (metadata.namespace, metadata.name) if part) or "(no name)"


def reduce_object(found: KubeStruct, annotations: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return an object as a support bundle contains it."""
    cut: dict[str, Any] = msgspec.to_builtins(found)
    return redact_object(type(found).__name__, cut, annotations)


class Part(NamedTuple):
    """A file of the archive.

    ``problem`` says why the file is missing, "" if it is not; ``left_out`` has lines on what the file lacks.
    """

    name: str
    content: bytes
    problem: str = ""
    left_out: tuple[str, ...] = ()


async def cluster_parts(transport: Transport, annotations: Sequence[str]) -> AsyncIterator[Part]:
    """Yield a file for each collection that has objects; ``poseidon plan -f`` reads these files."""
    async for held in list_collections(transport, annotations):
        name = f"cluster/{held.name}.json"
        if held.problem:
            yield Part(name, b"", held.problem)
        elif held.objects or held.left_out:
            content = {"apiVersion": "v1", "kind": "List", "metadata": HELD_LIST, "items": held.objects}
            yield Part(name, _json(content), left_out=held.left_out)


async def version_part(transport: Transport) -> Part:
    """Return the file with the versions of poseidon and Kubernetes."""

    async def versions() -> bytes:
        served = msgspec.json.decode(await transport.get("/version"))
        return _json({"poseidon": poseidon.__version__, "kubernetes": served})

    return await _attempt("versions.json", versions)


async def collect_solver_state(
    targets: Sequence[str], cluster: str, seconds: float, tls: TlsFiles | None
) -> Part:
    """Return the file with the tasks and machines that a running solver knows."""

    async def state() -> bytes:
        return _json(await read_state(targets, cluster, seconds, tls))

    return await _attempt("solver/state.json", state)


async def page_parts(program: str, url: str) -> AsyncIterator[Part]:
    """Yield the pages that a program serves at the address of its metrics, as files."""
    timeout = aiohttp.ClientTimeout(total=_PAGE_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        for page in PAGES:

            async def read(page: str = page) -> bytes:
                async with session.get(f"{url.rstrip('/')}/{page}") as answer:
                    text = (await answer.content.read(_MOST_BYTES)).decode("utf-8", "replace")
                    return redact_credentials(text).encode()

            yield await _attempt(f"{program}/{page}.txt", read)


def round_parts(folder: Path, most: int = MOST_ROUNDS) -> Iterator[Part]:
    """Yield the files of the latest rounds that a solver has saved in a folder.

    ``firmament replay`` reads the files of saved rounds.
    """
    try:
        rounds = sorted(each for each in folder.iterdir() if each.is_dir() and each.name.startswith("round-"))
        files = [file for each in rounds[-most:] for file in sorted(each.iterdir())]
        for file in files:
            content = file.read_bytes()
            if file.suffix == ".json":
                content = redact_credentials(content.decode("utf-8", "replace")).encode()
            yield Part(f"rounds/{file.parent.name}/{file.name}", content)
    except OSError as error:
        yield Part("rounds", b"", f"{error.filename or folder}: {error.strerror}")


def doctor_part(findings: Iterable[Finding]) -> Part:
    """Return the file with the findings of ``poseidon doctor``."""
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
        return Part(name, b"", redact_credentials(str(error)) or type(error).__name__)


def archive(parts: Sequence[Part], moment: float) -> bytes:
    """Return the parts as a compressed archive, with a file that lists its content and what could not be collected."""
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
        *(line for each in parts for line in _lines_about(each)),
    ]
    return ("\n".join(lines) + "\n").encode()


def _lines_about(part: Part) -> Iterator[str]:
    yield f"{part.name}: {part.problem or f'{len(part.content)} bytes'}"
    yield from (f"  {one_line(each)}" for each in part.left_out)


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(redact_urls(value)), indent=1)
