"""What is answered over HTTP: paths, parameters, versions, compression, streams, and how much of it."""

from __future__ import annotations

import asyncio
import gzip
import json

import msgspec
import pytest

from poseidon.explanations import Verdict
from poseidon.ui.audience import Audience
from poseidon.ui.server import parameters
from poseidon.ui.server.assets import Assets
from poseidon.ui.server.events import Events
from poseidon.ui.server.limits import Limits
from poseidon.ui.versions import Versions
from tests.poseidon.ui.objects import gone, known, make_node, make_pod, store, tell
from tests.poseidon.ui.served import FakeSource, served
from tests.poseidon.ui.test_flow import one_flow
from tests.support.time_limits import stretch
from tests.support.waiting import until

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u0000\u2028\"'&"


def full() -> FakeSource:
    found = store(make_node("n", {"zone": "z"}), make_pod("a/r", node="n"), make_pod("a/w", reason="why"))
    source = FakeSource(known(found))
    source.known.rounds.put_flow(one_flow())
    return source


PATHS = (
    "session",
    "overview",
    "flow",
    "flow/classes/c0",
    "flow/constraints/k0",
    "flow/machines/g0",
    "cluster",
    "nodes/n",
    "pending",
    "pods",
    "pods/a/r",
    "pods/a/w",
    "groups",
)


@pytest.mark.parametrize("path", PATHS)
async def test_every_path_answers_with_time_and_version(path):
    async with served(full()) as (client, _):
        answer = await client.get(f"/api/v1/{path}")
        assert (answer.status, answer.content_type) == (200, "application/json")
        found = await answer.json()
        assert isinstance(found["at"], float)
        assert isinstance(found["version"], int)
        assert (await client.post(f"/api/v1/{path}")).status == 405


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("nowhere", 404),
        ("nodes/nobody", 404),
        ("pods/a/nobody", 404),
        ("flow/classes/c9", 404),
        ("flow/classes/", 404),
        ("flow?round=99", 404),
        ("flow?round=-1", 400),
        ("pending?by=colour", 400),
        ("pods?phase=lost", 400),
        ("pods?limit=x", 400),
        ("pods?offset=\u0663", 400),
        (f"pods?q={'x' * 600}", 400),
        ("cures/1", 404),
        ("pods/..%2f..%2fetc/passwd", 404),
        ("nodes/%ed%a0%80%ff", 404),
        ("pods/a/%ed%a0%80", 404),
        ("pending?by=%ed%a0%80", 400),
        ("flow/classes/%00", 404),
    ],
)
async def test_what_cannot_be_answered(path, status):
    async with served(full()) as (client, _):
        answer = await client.get(f"/api/v1/{path}")
        assert answer.status == status
        assert list(await answer.json()) == ["error"]


async def test_a_view_is_made_once_for_each_version():
    source = full()
    async with served(source) as (client, _):
        one = await client.get("/api/v1/overview")
        tag = one.headers["ETag"]
        again = await client.get("/api/v1/overview", headers={"If-None-Match": tag})
        assert (again.status, await again.read()) == (304, b"")
        tell(source.known.store, make_pod("a/new"))
        # Changes count once they are published, so that a burst of them makes no work.
        same = await client.get("/api/v1/overview")
        assert (await same.json())["pods"]["pending"] == 1
        source.known.versions.publish()
        later = await client.get("/api/v1/overview", headers={"If-None-Match": tag})
        assert (await later.json())["pods"]["pending"] == 2
        assert (await later.json())["version"] > (await one.json())["version"]


async def test_large_answers_are_compressed():
    found = store(*(make_node(f"node-{number}") for number in range(200)))
    async with served(FakeSource(known(found))) as (client, _):
        async with client.get(
            "/api/v1/cluster", headers={"Accept-Encoding": "gzip"}, auto_decompress=False
        ) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            packed = gzip.decompress(await answer.read())
        plain = await client.get("/api/v1/cluster", headers={"Accept-Encoding": "identity"})
        assert "Content-Encoding" not in plain.headers
        assert packed == await plain.read()
        small = await client.get("/api/v1/pending")
        assert "Content-Encoding" not in small.headers


async def test_hostile_names_come_through_as_they_are():
    name = f"a/{HOSTILE}"
    found = store(
        make_node(HOSTILE, {HOSTILE: HOSTILE}),
        make_pod(name, reason=HOSTILE, owner=HOSTILE),
        make_pod("a/r", node=HOSTILE, labels={"app": HOSTILE}),
    )
    async with served(FakeSource(known(found))) as (client, _):
        for path in ("overview", "cluster", "pending", "pods", "groups"):
            answer = await client.get(f"/api/v1/{path}")
            assert answer.content_type == "application/json"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            text = await answer.text()
            assert json.loads(text)
            if path in ("cluster", "pending", "pods"):
                assert HOSTILE in set(texts_of(json.loads(text))) or name in set(texts_of(json.loads(text)))
        shown = await client.get("/api/v1/pods", params={"q": HOSTILE})
        assert [each["name"] for each in (await shown.json())["items"]] == [name]
        error = await client.get("/api/v1/pending", params={"by": HOSTILE})
        assert error.content_type == "application/json"


async def test_what_is_absurd_can_be_written():
    """Whoever may create pods may name a node and ask for anything: together more than 64 bits hold."""
    absurd = [make_pod(f"a/p{number}", node="n", memory="8Pi", cpu="9P") for number in range(2100)]
    found = store(make_node("n", memory="1"), *absurd)
    async with served(FakeSource(known(found))) as (client, _):
        columns = (await (await client.get("/api/v1/cluster")).json())["nodes"]
        assert columns["memory"] == [1_000_000]
        shown = await (await client.get("/api/v1/nodes/n")).json()
        assert shown["requested"]["memory"] == 2**53


async def test_texts_of_any_length_are_cut():
    long = "x" * 200_000
    one = make_pod(
        "a/p",
        owner=long,
        reason=long,
        schedulerName=long,
        annotations={"firmament.io/move-to": long, "firmament-gang-scheduling": long},
    )
    found = store(one)
    assert len(msgspec.json.encode(list(found.pods.values()))) < 20_000
    async with served(FakeSource(known(found))) as (client, _):
        for path in ("overview", "pending", "pods", "pods/a/p"):
            assert len(await (await client.get(f"/api/v1/{path}")).read()) < 30_000


def texts_of(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each)
    else:
        yield value


async def test_pages_are_bounded():
    found = store(*(make_pod(f"a/p{number:04d}") for number in range(1200)))
    async with served(FakeSource(known(found))) as (client, _):
        answer = await (await client.get("/api/v1/pods?limit=100000")).json()
        assert (answer["total"], len(answer["items"])) == (1200, parameters.MOST_PODS)
        rest = await (await client.get("/api/v1/pods?limit=1000&offset=1000")).json()
        assert len(rest["items"]) == 200
        beyond = await (await client.get("/api/v1/pods?offset=5000000000000000")).json()
        assert beyond["items"] == []


async def test_one_pod_with_what_is_said_of_it():
    source = full()
    async with served(source) as (client, _):
        silent = await (await client.get("/api/v1/pods/a/w")).json()
        assert (silent["verdicts"], silent["verdictsError"]) == (None, "nobody answers")
        source.said["a/w"] = {"n": Verdict(False, ("Insufficient cpu",), 0.0, {})}
        told = await (await client.get("/api/v1/pods/a/w")).json()
        assert (told["verdicts"]["refused"], told["verdictsError"]) == (1, None)
        gone(source.known.store, "uid-a/w")
        late = await (await client.get("/api/v1/pods/a/w")).json()
        assert (late["phase"], late["verdicts"]) == ("gone", None)


async def test_views_that_a_source_has_not_are_refused():
    source = FakeSource(known(flow=False, cures=False))
    async with served(source) as (client, _):
        assert (await client.get("/api/v1/flow")).status == 404
        body = {"pod": "a/x"}
        assert (await client.post("/api/v1/cures", json=body, headers={"X-Poseidon": "1"})).status == 404
        session = await (await client.get("/api/v1/session")).json()
        assert session["capabilities"]["flow"] is False


# --- streams ---------------------------------------------------------------------------------------------------


async def lines_of(stream, count):
    return [
        (await asyncio.wait_for(stream.content.readline(), stretch(5))).decode().strip() for _ in range(count)
    ]


async def test_a_stream_tells_what_has_changed():
    source = full()
    async with served(source) as (client, server), client.get("/api/v1/events") as stream:
        assert stream.content_type == "text/event-stream"
        event, data, _ = await lines_of(stream, 3)
        assert event == "event: changed"
        first = json.loads(data.removeprefix("data: "))
        assert set(first) == {"session", "overview", "flow", "cluster", "pending", "groups"}
        source.known.versions.publish()
        source.known.versions.mark("pending")
        source.known.versions.publish()
        _, data, _ = await lines_of(stream, 3)
        second = json.loads(data.removeprefix("data: "))
        assert second["pending"] > first["pending"]
        server.events.close()
        await asyncio.wait_for(stream.read(), stretch(5))


async def test_there_are_so_many_streams_at_most():
    async with served(limits=Limits(clients=64)) as (client, server):
        streams = [await client.get("/api/v1/events") for _ in range(64)]
        assert {each.status for each in streams} == {200}
        refused = await client.get("/api/v1/events")
        assert refused.status == 503
        assert int(refused.headers["Retry-After"]) > 0
        assert (await client.get("/api/v1/session")).status == 200
        streams[0].close()

        async def let_in() -> bool:
            server._versions.mark("overview")
            server._versions.publish()
            return (await client.get("/api/v1/events")).status == 200

        await until(let_in)
        server.events.close()


async def test_a_slow_client_is_dropped_and_meanwhile_gets_the_newest_alone():
    versions = Versions()
    events = Events(versions, Audience(lambda: 0.0), Limits(patience=0.05))
    written: list[bytes] = []
    released = asyncio.Event()

    async def write(content: bytes) -> None:
        written.append(content)
        await released.wait()

    assert await events.follow(write) is False
    assert len(written) == 1

    patient = Events(versions, Audience(lambda: 0.0), Limits(patience=5.0))
    written.clear()
    following = asyncio.create_task(patient.follow(write))
    await asyncio.sleep(0)
    for _ in range(50):
        versions.mark("overview")
        versions.publish()
        await asyncio.sleep(0)
    released.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(written) == 2
    assert json.loads(written[1].split(b"data: ")[1])["overview"] == versions.get("overview")
    patient.close()
    assert await asyncio.wait_for(following, stretch(5)) is True


async def test_a_client_that_has_gone_is_no_fault():
    events = Events(Versions(), Audience(lambda: 0.0), Limits())

    async def write(_: bytes) -> None:
        raise ConnectionResetError

    assert await events.follow(write) is True


async def test_too_many_requests_at_a_time(monkeypatch):
    source = full()
    release = asyncio.Event()
    asked: list[object] = []

    async def slowly(pod):
        asked.append(pod)
        await release.wait()
        return {}

    monkeypatch.setattr(source, "verdicts", slowly)
    async with served(source, limits=Limits(requests=2)) as (client, _):
        slow = [asyncio.create_task(client.get("/api/v1/pods/a/w")) for _ in range(2)]
        await until(lambda: len(asked) == 2)
        refused = await client.get("/api/v1/session")
        assert (refused.status, "Retry-After" in refused.headers) == (503, True)
        release.set()
        assert {(await each).status for each in slow} == {200}
        assert (await client.get("/api/v1/session")).status == 200


async def test_a_failure_is_told_without_its_details(monkeypatch):
    source = full()

    async def failing(_):
        raise RuntimeError("secret")

    monkeypatch.setattr(source, "verdicts", failing)
    async with served(source) as (client, _):
        answer = await client.get("/api/v1/pods/a/w")
        assert answer.status == 500
        assert "secret" not in await answer.text()


# --- files of the page -----------------------------------------------------------------------------------------


async def test_files_of_the_page_and_no_others(tmp_path):
    folder = tmp_path / "assets"
    (folder / "vendor").mkdir(parents=True)
    (folder / "index.html").write_text("<p>page</p>")
    (folder / "vendor" / "a.js").write_text("1")
    (folder / "notes.exe").write_text("no")
    (tmp_path / "secret.txt").write_text("secret")
    async with served(assets=Assets(folder)) as (client, _):
        for path in ("/", "/index.html"):
            page = await client.get(path)
            assert (page.status, page.content_type, await page.text()) == (200, "text/html", "<p>page</p>")
        script = await client.get("/vendor/a.js")
        assert (script.content_type, await script.text()) == ("text/javascript", "1")
        same = await client.get("/vendor/a.js", headers={"If-None-Match": script.headers["ETag"]})
        assert same.status == 304
        for path in (
            "/notes.exe",
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/vendor",
            "/vendor/../../secret.txt",
        ):
            assert (await client.get(path)).status == 404


async def test_the_page_that_is_installed():
    async with served() as (client, _):
        assert (await client.get("/")).content_type == "text/html"
