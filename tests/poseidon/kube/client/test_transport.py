"""HTTP: errors, credentials, TLS."""

from __future__ import annotations

import asyncio
import base64
import shutil
import ssl
import subprocess
import time

import pytest
from aiohttp import web

from poseidon.kube.client.credentials import HeaderCredentials
from poseidon.kube.client.errors import ApiError, SettingsError, UnreachableError
from poseidon.kube.client.settings import ConnectionSettings, load_settings
from poseidon.kube.client.transport import Transport
from tests.poseidon.kube.scripted_api import json, scripted, status


def transport(url, **settings):
    return Transport(ConnectionSettings(url, **settings), clock=time.monotonic, timeout=5)


async def test_bytes_come_back_raw():
    async def answer(request):
        return web.Response(body=b'{ "raw" : 1 }')

    async with scripted(answer) as (api, url), transport(url) as client:
        assert await client.get("/api/v1/nodes", {"limit": "5", "fieldSelector": "a=b"}) == b'{ "raw" : 1 }'
        assert api.requests[0][1] == "/api/v1/nodes?limit=5&fieldSelector=a%3Db"
        await client.post("/x", b"{}")
        assert (api.requests[1][0], api.requests[1][2]["Content-Type"]) == ("POST", "application/json")
        await client.patch("/x", b"{}")
        assert api.requests[2][2]["Content-Type"] == "application/strategic-merge-patch+json"


async def test_a_write_keeps_the_servers_base_path_and_says_what_any_request_does():
    async def answer(request):
        return json({})

    async with scripted(answer) as (api, url):
        settings = ConnectionSettings(
            url + "/clusters/one", credentials=HeaderCredentials(lambda: "Bearer token")
        )
        async with Transport(settings, clock=time.monotonic, user_agent="tests/1") as client:
            await client.get("/x")
            await client.post("/x", b"{}")
    (_, read_path, read, _), (_, written_path, written, body) = api.requests
    assert read_path == written_path == "/clusters/one/x"
    for name in ("Host", "Accept", "Accept-Encoding", "User-Agent", "Authorization"):
        assert written[name] == read[name]
    assert body == b"{}"


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "a", "/\u00e4", ""])
async def test_a_path_cannot_smuggle_anything_into_a_request(path):
    async with transport("http://127.0.0.1:1") as client:
        with pytest.raises(ValueError, match="not the path of a request"):
            await client.post(path, b"{}")


async def test_errors_carry_the_status_body():
    async def answer(request):
        return status(429, "TooManyRequests", "slow\ndown", headers={"Retry-After": "3"})

    async with scripted(answer) as (_, url), transport(url) as client:
        with pytest.raises(ApiError) as caught:
            await client.get("/x")
    error = caught.value
    assert (error.status, error.reason, error.message, error.retry_after) == (
        429,
        "TooManyRequests",
        "slow down",
        3.0,
    )
    assert error.transient


async def test_errors_without_a_status_body_are_still_one_line():
    async def answer(request):
        return web.Response(status=502, text="<html>\nbad gateway\n</html>")

    async with scripted(answer) as (_, url), transport(url) as client:
        with pytest.raises(ApiError, match="502: <html> bad gateway </html>"):
            await client.get("/x")


async def test_an_unreachable_server_is_a_typed_error():
    async with transport("http://127.0.0.1:1") as client:
        with pytest.raises(UnreachableError, match="GET /x: "):
            await client.get("/x")
        with pytest.raises(UnreachableError):
            async for _ in client.lines("/x", {}, 1.0):
                pass


async def test_lines_are_whole_whatever_the_reads():
    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in (b"o", b"ne\ntw", b"o\nthr", b"ee\nunfinished"):
            await response.write(piece)
        return response

    async with scripted(answer) as (_, url), transport(url) as client:
        got = [line async for batch in client.lines("/x", {}, 5.0) for line in batch]
    assert got == [b"one", b"two", b"three"]


async def test_a_silent_stream_times_out():
    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.Event().wait()
        return response

    async with scripted(answer) as (_, url), transport(url) as client:
        lines = client.lines("/x", {}, 0.1)
        assert await anext(lines) == [b"one"]
        with pytest.raises(UnreachableError, match=r"timed out|Timeout"):
            await anext(lines)


async def test_credentials_are_read_again_and_kept_when_that_fails(caplog):
    now = [0.0]
    tokens = iter(["Bearer one", "Bearer two"])

    def authorize():
        try:
            return next(tokens)
        except StopIteration:
            raise OSError("token file is gone") from None

    async def answer(request):
        return json({})

    async with scripted(answer) as (api, url):
        client = Transport(
            ConnectionSettings(url, credentials=HeaderCredentials(authorize)),
            clock=lambda: now[0],
            refresh_seconds=10.0,
        )
        async with client:
            for now[0] in (0.0, 5.0, 11.0, 22.0):
                await client.get("/x")
    sent = [headers["Authorization"] for _, _, headers, _ in api.requests]
    assert sent == ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]
    assert "token file is gone" in caplog.text


async def test_new_credentials_are_looked_for_when_those_there_are_refused():
    """A token was replaced before its time: requests in flight are made again, and ask for it once."""
    asked = []

    def authorize():
        asked.append(1)
        return f"Bearer {len(asked)}"

    async def answer(request):
        if request.headers["Authorization"] != "Bearer 2":
            return status(401, "Unauthorized", "Unauthorized")
        return json({})

    async with scripted(answer) as (api, url):
        client = Transport(
            ConnectionSettings(url, credentials=HeaderCredentials(authorize)), clock=lambda: 0.0
        )
        async with client:
            await asyncio.gather(*(client.post("/x", b"{}") for _ in range(20)))
    assert len(asked) == 2
    assert len(api.requests) <= 40


async def test_credentials_that_stay_refused_are_asked_for_once_a_second():
    now, asked = [0.0], []

    def authorize():
        asked.append(1)
        return "Bearer old"

    async def answer(request):
        return status(401, "Unauthorized", "Unauthorized")

    async with scripted(answer) as (api, url):
        client = Transport(
            ConnectionSettings(url, credentials=HeaderCredentials(authorize)), clock=lambda: now[0]
        )
        async with client:
            for now[0] in (0.0, 0.5, 1.0, 1.5):
                with pytest.raises(ApiError, match="401"):
                    await client.get("/x")
    assert len(asked) == 3
    assert len(api.requests) == 4


async def test_nobody_is_told_to_wait_for_an_hour():
    async def answer(request):
        return status(503, "ServiceUnavailable", "later", headers={"Retry-After": "3600"})

    async with scripted(answer) as (_, url), Transport(ConnectionSettings(url), clock=lambda: 0.0) as client:
        with pytest.raises(ApiError) as caught:
            await client.get("/x")
    assert caught.value.retry_after == 60.0


# --- settings -------------------------------------------------------------------------------------------------------


def kubeconfig(path, server="http://127.0.0.1:1", cluster="", user="token: secret"):
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c
  cluster: {{server: "{server}"{cluster}}}
- name: other
  cluster: {{server: "http://other:1"}}
users:
- name: u
  user: {{{user}}}
contexts:
- name: one
  context: {{cluster: c, user: u}}
- name: two
  context: {{cluster: other, user: u}}
"""
    )
    return path


def test_kubeconfig_with_token_and_context(tmp_path):
    path = kubeconfig(tmp_path / "config")
    settings = load_settings(path, environ={})
    assert settings.server == "http://127.0.0.1:1"
    assert settings.tls is None
    assert settings.credentials is not None
    assert settings.credentials.read().authorization == "Bearer secret"
    assert load_settings(path, "two", environ={}).server == "http://other:1"


@pytest.mark.parametrize(
    ("server", "proxy"),
    [
        ("http://cluster:1", "http://proxy:3128"),
        ("http://127.0.0.1:1", None),
        ("http://localhost:1", None),
        ("http://[::1]:1", None),
    ],
)
def test_a_proxy_is_used_except_for_this_machine(tmp_path, monkeypatch, server, proxy):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://proxy:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert load_settings(kubeconfig(tmp_path / "config", server=server), environ={}).proxy == proxy


def test_kubeconfig_is_found_as_kubectl_does(tmp_path):
    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube" / "config", server="http://home:1")
    listed = kubeconfig(tmp_path / "listed", server="http://listed:1")
    home = {"HOME": str(tmp_path)}
    assert load_settings(environ=home).server == "http://home:1"
    assert load_settings(environ={**home, "KUBECONFIG": str(listed)}).server == "http://listed:1"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "no such file"),
        ("", "empty"),
        ("a: [", "while parsing"),
        ("apiVersion: v1\nkind: Config\n", "current-context"),
        ("hello", "does not have the shape of a kubeconfig"),
        ("[]", "does not have the shape of a kubeconfig"),
        ("{current-context: x, contexts: 5, clusters: [], users: []}", "does not have the shape"),
    ],
)
def test_a_bad_kubeconfig_is_one_clear_line(tmp_path, text, problem):
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ={})
    message = str(caught.value)
    assert str(path) in message
    assert problem in message
    assert "\n" not in message


def test_unknown_context_and_bad_server(tmp_path):
    path = kubeconfig(tmp_path / "config", server="ftp://nowhere")
    with pytest.raises(SettingsError, match="three"):
        load_settings(path, "three", environ={})
    with pytest.raises(SettingsError, match="not an http"):
        load_settings(path, environ={})


def test_nothing_given_says_what_to_do(tmp_path):
    with pytest.raises(SettingsError, match="--kubeconfig"):
        load_settings(environ={"HOME": str(tmp_path)})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the test's certificate")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            openssl,
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
            "-days",
            "2",
            "-subj",
            "/CN=test",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.mark.parametrize(
    ("trust", "accepted"), [("", False), (", insecure-skip-tls-verify: true", True), ("CA", True)]
)
async def test_self_signed_certificates(tmp_path, certificate, trust, accepted):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    if trust == "CA":
        encoded = base64.b64encode((certificate / "cert.pem").read_bytes()).decode()
        trust = f', certificate-authority-data: "{encoded}"'

    async def answer(request):
        return json({"authorization": request.headers["Authorization"]})

    async with scripted(answer, context) as (_, url):
        settings = load_settings(kubeconfig(tmp_path / "config", url, trust), environ={})
        async with Transport(settings, clock=time.monotonic) as client:
            if accepted:
                assert await client.get("/x") == b'{"authorization":"Bearer secret"}'
            else:
                with pytest.raises(UnreachableError, match="certificate"):
                    await client.get("/x")
