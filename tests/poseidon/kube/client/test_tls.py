"""Lists, watches and the connections of small writes treat certificates and tokens alike."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from poseidon.kube.client.credentials import HeaderCredentials
from poseidon.kube.client.errors import UnreachableError
from poseidon.kube.client.settings import ConnectionSettings, load_settings
from poseidon.kube.client.transport import Transport
from tests.poseidon.kube.scripted_api import ScriptedApi, scripted
from tests.support.certificates import Certificate, make_authority, server_context, sign

NAME = "api.example"


class Files:
    """An authority, what it has signed, and an authority that nobody trusts."""

    def __init__(self, folder: Path) -> None:
        self.authority = make_authority(folder, "authority")
        self.stranger = make_authority(folder, "stranger")
        self.server = sign(self.authority, folder, "server", "IP:127.0.0.1")
        self.named = sign(self.authority, folder, "named", f"DNS:{NAME}")
        self.client = sign(self.authority, folder, "client")
        self.successor = sign(self.authority, folder, "successor")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("tls"))


async def read(client: Transport) -> bytes:
    return await client.get("/x")


async def watch(client: Transport) -> bytes:
    async with aclosing(client.lines("/x", {"watch": "true"}, 5.0)) as stream:
        return b"".join([line async for lines in stream for line in lines])


async def write(client: Transport) -> bytes:
    return await client.post("/x", b"{}")


Way = Callable[[Transport], Awaitable[bytes]]
WAYS: list[Way] = [read, watch, write]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def settings_for(
    folder: Path,
    url: str,
    trusted: Certificate,
    *,
    client: Certificate | None = None,
    token: str = "",
    name: str = "",
    user: dict[str, str] | None = None,
    cluster: dict[str, str] | None = None,
) -> ConnectionSettings:
    """Return the settings of a kubeconfig, as people write them; ``cluster`` says another authority."""
    cluster = {"server": url} | (cluster or {"certificate-authority-data": encoded(trusted.certificate)})
    user = dict(user or {}) | ({"token": token} if token else {})
    if client is not None:
        user["client-certificate-data"] = encoded(client.certificate)
        user["client-key-data"] = encoded(client.key)
    if name:
        cluster["tls-server-name"] = name
    path = folder / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return load_settings(path, environ={})


@asynccontextmanager
async def serving(context: ssl.SSLContext) -> AsyncIterator[tuple[ScriptedApi, str]]:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=f"{request.headers.get('Authorization', '-')}\n")

    async with scripted(answer, context) as (api, url):
        yield api, url


async def test_who_is_trusted_is_answered(tmp_path: Path, files: Files, way: Way) -> None:
    async with serving(server_context(files.server)) as (_, url):
        settings = settings_for(tmp_path, url, files.authority, token="secret")
        async with Transport(settings, clock=time.monotonic) as client:
            for _ in range(3):
                assert (await way(client)).strip() == b"Bearer secret"


async def test_a_server_that_nobody_vouches_for_is_sent_nothing(
    tmp_path: Path, files: Files, way: Way
) -> None:
    async with serving(server_context(files.server)) as (api, url):
        settings = settings_for(tmp_path, url, files.stranger, token="secret")
        async with Transport(settings, clock=time.monotonic) as client:
            with pytest.raises(UnreachableError, match="certificate verify failed"):
                await way(client)
        assert not api.requests


async def test_a_certificate_for_somebody_else_is_refused_unless_that_is_meant(
    tmp_path: Path, files: Files, way: Way
) -> None:
    async with serving(server_context(files.named)) as (api, url):
        settings = settings_for(tmp_path, url, files.authority)
        async with Transport(settings, clock=time.monotonic) as client:
            with pytest.raises(UnreachableError, match="certificate verify failed: IP address mismatch"):
                await way(client)
        assert not api.requests
        settings = settings_for(tmp_path, url, files.authority, name=NAME)
        async with Transport(settings, clock=time.monotonic) as client:
            assert (await way(client)).strip() == b"-"


async def test_client_certificates(tmp_path: Path, files: Files, way: Way) -> None:
    async with serving(server_context(files.server, files.authority)) as (api, url):
        settings = settings_for(tmp_path, url, files.authority)
        async with Transport(settings, clock=time.monotonic) as client:
            with pytest.raises(UnreachableError):
                await way(client)
        assert not api.requests
        settings = settings_for(tmp_path, url, files.authority, client=files.client)
        async with Transport(settings, clock=time.monotonic) as client:
            assert (await way(client)).strip() == b"-"


async def test_a_token_that_has_expired_is_replaced(files: Files, way: Way) -> None:
    tokens = iter(["old", "new"])

    async def answer(request: web.BaseRequest) -> web.Response:
        expired = request.headers["Authorization"] == "Bearer old"
        return web.Response(status=401 if expired else 200, text="done\n")

    tls = ssl.create_default_context(cafile=str(files.authority.certificate))
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # on by default from Python 3.13
    async with scripted(answer, server_context(files.server)) as (_, url):
        settings = ConnectionSettings(
            url,
            tls=tls,
            credentials=HeaderCredentials(lambda: f"Bearer {next(tokens)}"),
        )
        async with Transport(settings, clock=time.monotonic) as client:
            assert (await way(client)).strip() == b"done"


async def test_a_client_certificate_that_is_replaced_is_used_from_then_on(
    tmp_path: Path, files: Files, way: Way
) -> None:
    """Connections that idle with the former certificate are not used again."""
    names = []

    async def answer(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        names.append(dict(part for parts in peer["subject"] for part in parts)["commonName"])
        return web.Response(text="done\n")

    now = [0.0]
    async with scripted(answer, server_context(files.server, files.authority)) as (_, url):
        certificate, key = tmp_path / "client.crt", tmp_path / "client.key"
        write_pair(files.client, certificate, key)
        settings = settings_for(
            tmp_path,
            url,
            files.authority,
            user={"client-certificate": certificate.name, "client-key": key.name},
        )
        async with Transport(settings, clock=lambda: now[0], refresh_seconds=10.0) as client:
            await way(client)
            write_pair(files.successor, certificate, key)
            await way(client)
            now[0] = 11.0
            await way(client)
            await way(client)
    assert names == ["client", "client", "successor", "successor"]


async def test_an_authority_that_is_replaced_is_trusted_and_the_former_no_longer(
    tmp_path: Path, files: Files, way: Way
) -> None:
    now = [0.0]
    trusted = tmp_path / "ca.crt"
    trusted.write_bytes(files.stranger.certificate.read_bytes())
    async with serving(server_context(files.server)) as (_, url):
        settings = settings_for(
            tmp_path, url, files.authority, cluster={"certificate-authority": str(trusted)}
        )
        async with Transport(settings, clock=lambda: now[0], refresh_seconds=10.0) as client:
            with pytest.raises(UnreachableError, match="certificate verify failed"):
                await way(client)
            trusted.write_bytes(files.authority.certificate.read_bytes() + b"\n")
            now[0] = 11.0
            await way(client)
            trusted.write_bytes(files.stranger.certificate.read_bytes())
            now[0] = 22.0
            with pytest.raises(UnreachableError, match="certificate verify failed"):
                await way(client)


def write_pair(pair: Certificate, certificate: Path, key: Path) -> None:
    """Replace a certificate and its key as rotation does: by files of the same names."""
    for source, target in ((pair.certificate, certificate), (pair.key, key)):
        written = target.with_suffix(".new")
        written.write_bytes(source.read_bytes())
        written.replace(target)
