"""Who is let in."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network

import pytest
from aiohttp import CookieJar
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.ui.server.access import COOKIE, Access, AccessError, check_exposure
from poseidon.ui.server.security_headers import HEADERS
from poseidon.ui.server.wrong_tokens import MOST, Guesses
from tests.poseidon.ui.served import served
from tests.support.time_limits import stretch

TOKEN = "correct horse battery"
API = "/api/v1/session"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_this_machine_alone_needs_no_token(host):
    check_exposure(host, Access())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.com", ""])
def test_whoever_is_reached_by_others_has_to_ask_for_something(host):
    with pytest.raises(AccessError, match="others reach this address"):
        check_exposure(host, Access())
    check_exposure(host, Access(token=TOKEN))
    check_exposure(host, Access(proxy_header="X-User", proxies=[ip_network("10.0.0.0/8")]))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(AccessError, match="shorter than 16"):
        check_exposure("127.0.0.1", Access(token="short"))
    with pytest.raises(AccessError, match="go together"):
        check_exposure("127.0.0.1", Access(proxy_header="X-User"))
    with pytest.raises(AccessError, match="go together"):
        check_exposure("127.0.0.1", Access(proxies=[ip_network("10.0.0.0/8")]))


@pytest.mark.parametrize(
    "options",
    [
        ["--listen", "0.0.0.0:0"],
        ["--listen", "0.0.0.0:0", "--trust-proxy-header", "X-User"],
        ["--token-file", "{short}"],
        ["--token-file", "{nowhere}"],
        ["--trust-proxy", "10.0.0.0/8"],
    ],
)
def test_the_command_refuses_in_one_line(tmp_path, options):
    short = tmp_path / "short"
    short.write_text("abc")
    filled = [each.format(short=short, nowhere=tmp_path / "nowhere") for each in options]
    outcome = CliRunner().invoke(main, ["ui", *filled])
    assert outcome.exit_code == 2
    assert len(outcome.stderr.splitlines()) == 1


async def test_a_token_lets_in():
    async with served(access=Access(token=TOKEN)) as (client, _):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            answer = await client.get(API, headers=headers)
            assert answer.status == 401
            assert (await answer.json())["error"]
        assert (await client.get("/")).status == 401
        assert (await client.get("/api/v1/events")).status == 401
        answer = await client.get(API, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status == 200


async def test_a_token_in_the_address_becomes_a_cookie():
    async with served(access=Access(token=TOKEN)) as (given, _):
        # Cookies for addresses instead of names have to be allowed.
        server = given.server
        assert isinstance(server, TestServer)
        async with TestClient(server, cookie_jar=CookieJar(unsafe=True)) as client:
            refused = await client.get("/?token=wrong", allow_redirects=False)
            assert (refused.status, refused.headers.get("Set-Cookie")) == (401, None)
            answer = await client.get(f"/?token={TOKEN}&at=1", allow_redirects=False)
            assert (answer.status, answer.headers["Location"]) == (303, "/?at=1")
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert TOKEN not in cookie
            assert (await client.get(API)).status == 200
            # only at the start
            client.session.cookie_jar.clear()
            assert (await client.get(f"{API}?token={TOKEN}")).status == 401


async def test_a_proxy_is_believed_where_it_is():
    near = Access(proxy_header="X-User", proxies=[ip_network("127.0.0.0/8")])
    far = Access(proxy_header="X-User", proxies=[ip_network("10.0.0.0/8")])
    async with served(access=near) as (client, _):
        assert (await client.get(API, headers={"X-User": "somebody"})).status == 200
        assert (await client.get(API, headers={"X-User": " "})).status == 401
        assert (await client.get(API)).status == 401
    async with served(access=far) as (client, _):
        assert (await client.get(API, headers={"X-User": "somebody"})).status == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8088", 200),
        ("127.0.0.1", 200),
        ("[::1]:8088", 200),
        ("10.1.2.3:8088", 200),  # nobody can have an address resolved to another one
        ("board.example", 200),
        ("BOARD.example:80", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("evil.example@localhost", 200),  # names localhost, and nothing else is done with it
        ("", 403),
        ("[", 403),
    ],
)
async def test_names_of_others_are_refused(host, status):
    async with served(access=Access(names=frozenset({"board.example"}))) as (client, _):
        assert (await client.get(API, headers={"Host": host})).status == status
        assert (await client.get("/healthz", headers={"Host": host})).status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:1"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:2"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403),
    ],
)
async def test_other_pages_are_refused(headers, status):
    async with served() as (client, _):
        assert (await client.get(API, headers={"Host": "localhost:1", **headers})).status == status


async def test_health_needs_no_token():
    async with served(access=Access(token=TOKEN)) as (client, _):
        answer = await client.get("/healthz")
        assert (answer.status, await answer.text()) == (200, "ok\n")


async def test_every_answer_bears_the_headers():
    async with served(access=Access(token=TOKEN)) as (client, server):
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        for path, headers in (
            ("/", bearer),
            ("/", {}),
            (API, bearer),
            ("/api/v1/nowhere", bearer),
            ("/api/v1/pending?by=x", bearer),
            ("/healthz", {}),
            (API, {"Host": "evil.example"}),
        ):
            answer = await client.get(path, headers=headers)
            for name, value in HEADERS.items():
                assert answer.headers.getall(name) == [value], (path, name)
        async with client.get("/api/v1/events", headers=bearer) as stream:
            assert stream.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
            server.events.close()
            await asyncio.wait_for(stream.read(), stretch(5))


def test_the_policy_lets_no_request_leave():
    policy = dict(each.strip().split(" ", 1) for each in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Bearer \xff\xfe",
        b"Cookie: poseidon-ui=\xff",
        b"Origin: http://[",
        b"Origin: \xff",
        b"X-User: \xff",
    ],
)
async def test_bytes_that_are_no_text(header):
    access = Access(token=TOKEN, proxy_header="X-User", proxies=[ip_network("10.0.0.0/8")])
    async with served(access=access) as (client, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(
            b"GET /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header + b"\r\nConnection: close\r\n\r\n"
        )
        answer = await asyncio.wait_for(reader.read(), stretch(10))
        writer.close()
        assert answer.split(b" ", 2)[1] in (b"400", b"401", b"403")


async def test_no_further_token_is_looked_at_after_many_wrong_ones():
    now = [0.0]
    async with served(access=Access(token=TOKEN), clock=lambda: now[0]) as (client, _):
        right, wrong = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": "Bearer wrong"}
        entered = await client.get(f"/?token={TOKEN.replace(' ', '+')}", allow_redirects=False)
        assert entered.status == 303
        cookie = {COOKIE: entered.cookies[COOKIE].value}
        client.session.cookie_jar.clear()
        statuses = [(await client.get(API, headers=wrong)).status for _ in range(MOST + 1)]
        assert statuses == [401] * MOST + [429]
        for path, headers in ((API, right), ("/?token=again", {})):
            refused = await client.get(path, headers=headers)
            assert (refused.status, refused.headers["Retry-After"]) == (429, "60")
        assert (await client.get(API, cookies=cookie)).status == 200  # who is in stays in
        now[0] = 60.0
        client.session.cookie_jar.clear()
        assert (await client.get(API, headers=right)).status == 200


def test_wrong_tokens_are_counted_for_so_many_addresses():
    guesses = Guesses(lambda: 0.0)
    for _ in range(MOST):
        guesses.count_wrong_token("first")
    assert guesses.too_many("first")
    for number in range(1024):
        guesses.count_wrong_token(f"peer-{number}")
    assert not guesses.too_many("first")


async def test_metrics_of_requests_and_streams():
    async with served(access=Access(token=TOKEN)) as (client, _):
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert (await client.get("/metrics")).status == 401
        await client.get("/api/v1/pods/shop/a-name", headers=bearer)
        await client.get("/api/v1/overview", headers=bearer)
        await client.get("/no-such-file", headers=bearer)
        async with client.get("/api/v1/events", headers=bearer):
            text = await (await client.get("/metrics", headers=bearer)).text()
    found = {each for each in text.splitlines() if not each.startswith("#")}
    assert "poseidon_ui_streams 1.0" in found
    assert 'poseidon_ui_requests_total{route="/api/v1/overview",status="200"} 1.0' in found
    assert 'poseidon_ui_requests_total{route="/api/v1/pods/{namespace}/{name}",status="404"} 1.0' in found
    assert 'poseidon_ui_requests_total{route="page",status="404"} 1.0' in found
    assert "a-name" not in text
