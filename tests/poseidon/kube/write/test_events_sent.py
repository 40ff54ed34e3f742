"""Events as they are sent: their names, what is repeated in place, and what is forgotten."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any, cast

import pytest

from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef, PodRef
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.event_writer import EventWriter

EVENTS = "/api/v1/namespaces/ns/events"
EXISTS = ApiError(409, "AlreadyExists", 'events "x" already exists')
GONE = ApiError(404, "NotFound", 'events "x" not found')
FAILED = EventReason.FAILED_SCHEDULING


class Api:
    """Raises the given errors in turn (None: no error), then accepts; notes what was asked."""

    def __init__(self) -> None:
        self.faults: list[ApiError | None] = []
        self.asked: list[tuple[str, str, Any]] = []

    async def _take(self, method: str, path: str, body: bytes) -> bytes:
        self.asked.append((method, path, json.loads(body)))
        await asyncio.sleep(0)
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        return b"{}"

    async def post(self, path: str, body: bytes) -> bytes:
        return await self._take("POST", path, body)

    async def patch(self, path: str, body: bytes, _form: str) -> bytes:
        return await self._take("PATCH", path, body)


class Scene:
    """A writer before an API; each event is written as soon as it is said."""

    def __init__(self) -> None:
        self.api = Api()
        self.now = 1_767_268_800.0
        environment = Environment(cast(Transport, self.api), random=Random(1), wall=lambda: self.now)
        self.writer = EventWriter(environment, self.quiet, component="poseidon", instance="me")

    async def quiet(self) -> None:
        """Return at once: no binding waits."""

    async def write(self) -> list[tuple[str, str, Any]]:
        """Write what waits; return what was asked for it."""
        before = len(self.api.asked)
        running = asyncio.create_task(self.writer.run())
        await self.writer.wait_drained()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return self.api.asked[before:]

    async def fail(self, name: str, message: str = "no room") -> list[tuple[str, str, Any]]:
        self.writer.say(pod(name), FAILED, message)
        return await self.write()


def pod(name: str) -> PodRef:
    return PodRef(f"uid-{name}", "ns", name)


def queue(uid: str) -> ObjectRef:
    return ObjectRef("kueue/v1", "LocalQueue", uid, "ns", "q")


async def test_an_event_says_what_happened_to_whom_and_who_says_so():
    scene = Scene()
    scene.writer.write_scheduled(pod("p"), "n1")
    [(method, path, body)] = await scene.write()
    assert (method, path) == ("POST", EVENTS)
    assert body["metadata"].pop("name").startswith("p.")
    at = "2026-01-01T12:00:00Z"
    assert body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "ns"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "ns",
            "name": "p",
            "uid": "uid-p",
        },
        "type": "Normal",
        "reason": "Scheduled",
        "message": "Successfully assigned ns/p to n1",
        "action": "Binding",
        "count": 1,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": {"component": "poseidon"},
        "reportingComponent": "poseidon",
        "reportingInstance": "me",
    }


async def test_long_messages_and_names_are_cut():
    scene = Scene()
    scene.writer.say(pod("p" * 253), FAILED, "x" * 1025)
    [(_, _, body)] = await scene.write()
    assert body["message"] == "x" * 1024
    assert body["metadata"]["name"].partition(".")[0] == "p" * 230


async def test_a_failure_that_lasts_counts_up_in_place():
    scene = Scene()
    [(_, _, first)] = await scene.fail("p")
    scene.now += 60
    change = {"count": 2, "lastTimestamp": "2026-01-01T12:01:00Z", "message": "y" * 1024}
    path = f"{EVENTS}/{first['metadata']['name']}"
    assert await scene.fail("p", "y" * 1025) == [("PATCH", path, change)]
    [(_, _, third)] = await scene.fail("p")
    assert third["count"] == 3
    scene.writer.write_scheduled(pod("p"), "n1")
    await scene.write()
    [(method, _, anew)] = await scene.fail("p")
    assert (method, anew["count"]) == ("POST", 1), "it was bound meanwhile"


async def test_an_event_that_has_expired_is_written_anew_and_other_refusals_are_not():
    scene = Scene()
    await scene.fail("p")
    scene.api.faults = [GONE]
    assert [method for method, *_ in await scene.fail("p")] == ["PATCH", "POST"]
    scene.api.faults = [ApiError(403, "Forbidden", "no")]
    assert [method for method, *_ in await scene.fail("p")] == ["PATCH"]


@pytest.mark.parametrize(("after", "posted"), [("abc", "a"), ("abac", "b"), ("ab", "")])
async def test_only_the_latest_failures_are_remembered(monkeypatch, after, posted):
    monkeypatch.setattr("poseidon.kube.write.event_writer._REMEMBERED", 2)
    scene = Scene()
    for name in after:
        await scene.fail(name)
    asked = [await scene.fail(name) for name in posted or "ab"]
    assert [method for [(method, *_)] in asked] == (["POST"] if posted else ["PATCH", "PATCH"])


async def test_the_same_warning_is_renewed_and_any_other_is_another():
    scene = Scene()
    names = []
    for about, reason, text in (
        (queue("u"), EventReason.INVALID_SPEC, "a"),
        (queue("u"), EventReason.INVALID_SPEC, "b"),
        (queue("v"), EventReason.INVALID_SPEC, "a"),
        (queue("u"), EventReason.NOT_HONOURED, "a"),
    ):
        scene.writer.warn(about, reason, text)
        [(_, _, body)] = await scene.write()
        assert (body["type"], body["action"]) == ("Warning", "Reconciling")
        names.append(body["metadata"]["name"])
    assert len(set(names)) == 4
    scene.now += 60
    scene.api.faults = [EXISTS]
    scene.writer.warn(queue("u"), EventReason.INVALID_SPEC, "a")
    post, patch = await scene.write()
    assert post[2]["metadata"]["name"] == names[0]
    assert patch == ("PATCH", f"{EVENTS}/{names[0]}", {"lastTimestamp": "2026-01-01T12:01:00Z"})


async def test_warnings_for_different_reasons_wait_side_by_side():
    scene = Scene()
    scene.writer.warn(queue("u"), EventReason.INVALID_SPEC, "a")
    scene.writer.warn(queue("u"), EventReason.INVALID_SPEC, "b")
    scene.writer.warn(queue("u"), EventReason.NOT_HONOURED, "c")
    assert sorted(body["message"] for _, _, body in await scene.write()) == ["b", "c"]


async def test_an_event_that_is_there_already_is_left_as_it_is():
    scene = Scene()
    scene.api.faults = [EXISTS]
    assert [method for method, *_ in await scene.fail("p")] == ["POST"]
    assert [method for method, *_ in await scene.fail("p")] == ["PATCH"], "an earlier try has written it"
