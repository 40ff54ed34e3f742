"""What a reflector knows of objects across lists, watches and their ends: no change is lost, none is made up."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from poseidon.kube.api.collections import NODES
from tests.poseidon.kube.scripted_api import listing, node, scripted, status, watch
from tests.poseidon.kube.watch.test_reflector import VERSIONS, Watching, hang, is_watch
from tests.support.waiting import until

EXPIRED = ("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


def sized(name, version, cpu):
    return node(name, version) | {"status": {"allocatable": {"cpu": cpu}}}


class Script:
    """Answers lists and watches in turn, the last answer of each kind again and again; a watch without one hangs."""

    def __init__(self, lists, watches=()):
        self.lists, self.watches = list(lists), list(watches)
        self.asked = []

    async def __call__(self, request):
        if is_watch(request):
            self.asked.append(f"watch {request.query['resourceVersion']}")
            return await watch(request, *self.watches.pop(0)) if self.watches else await hang(request)
        self.asked.append("list")
        return self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]


def cpus(watching):
    return {each.metadata.name: each.status.allocatable["cpu"] for each in watching.store.objects.values()}


async def test_a_change_back_to_what_was_before_a_list_is_passed_on():
    script = Script(
        [listing(10), listing(20, sized("a", 15, "8"))],
        [[("ADDED", sized("a", 11, "4")), EXPIRED], [("MODIFIED", sized("a", 21, "4"))]],
    )
    async with scripted(script) as (_, url), Watching(url) as watching:
        await until(lambda: len(watching.store.batches) == 3)
        assert cpus(watching) == {"a": "4"}


async def test_an_object_that_comes_back_as_it_was_is_passed_on():
    changes = [("ADDED", sized("a", 11, "4")), ("DELETED", node("a", 12)), ("ADDED", sized("a", 13, "4"))]
    script = Script([listing(10)], [changes])
    async with scripted(script) as (_, url), Watching(url) as watching:
        await until(lambda: watching.store.gone == ["a"] and watching.store.objects)
        assert cpus(watching) == {"a": "4"}


async def test_what_comes_before_an_error_in_a_watch_is_passed_on():
    script = Script([listing(10), listing(20)], [[("ADDED", node("a", 11)), EXPIRED]])
    async with scripted(script) as (_, url), Watching(url) as watching:
        await until(lambda: script.asked[-1:] == ["watch 20"])
        assert (watching.store.batches, watching.store.gone) == ([1, 1], ["a"])
        assert watching.count("poseidon_watch_events_total", type="ADDED") == 1
        assert script.asked == ["list", "watch 10", "list", "watch 20"]


async def test_objects_of_a_list_that_was_not_read_to_its_end_are_missed_by_the_next():
    script = Script(
        [
            listing(10, node("a", 1), token="more"),
            status(410, "Expired", "too old"),
            listing(20, node("b", 2)),
        ]
    )
    async with scripted(script) as (_, url), Watching(url) as watching:
        await until(lambda: watching.reflector.has_synced)
        assert (watching.store.names, watching.store.gone) == (["b"], ["a"])


async def test_a_collection_that_is_served_no_more_has_no_objects():
    served, watches = [True], []

    async def answer(request):
        if not served[0]:
            return status(404, "NotFound", "the server could not find the requested resource")
        if not is_watch(request):
            return listing(10, node("a", 1))
        watches.append(request)
        if len(watches) > 1:
            return await hang(request)
        served[0] = False
        return await watch(request, then="break")

    async with scripted(answer) as (_, url), Watching(url) as watching:
        await until(lambda: watching.store.gone == ["a"])
        served[0] = True
        await until(lambda: len(watches) == 2)
        assert watching.store.names == ["a"]
        assert watching.relists("served") >= 1


@pytest.mark.parametrize(("required", "synced"), [(False, True), (True, False)])
async def test_what_may_not_be_read_is_absent_unless_it_is_needed(required, synced):
    async def answer(request):
        return status(403, "Forbidden", "no")

    resource = replace(NODES, required=required)
    async with scripted(answer) as (api, url), Watching(url, resource) as watching:
        await until(lambda: len(api.requests) > 2)
        assert watching.reflector.has_synced is synced
        errors = watching.count("poseidon_watch_errors_total", kind="api")
        assert bool(errors) is required


async def test_only_a_version_that_is_not_served_leads_to_the_next():
    paths = []

    async def answer(request):
        paths.append(request.path)
        return status(500, "InternalError", "broken") if len(paths) < 3 else listing(10, node("a", 1))

    async with scripted(answer) as (_, url), Watching(url, VERSIONS) as watching:
        await until(lambda: watching.reflector.has_synced)
        assert set(paths[:3]) == {VERSIONS.path}
        assert watching.count("poseidon_watch_errors_total", kind="api") == 2


async def test_a_connection_that_breaks_is_counted():
    async with Watching("http://127.0.0.1:1") as watching:
        await until(lambda: watching.count("poseidon_watch_errors_total", kind="connection") > 1)
        assert not watching.reflector.has_synced


async def test_a_reflector_waits_until_those_before_it_know_their_objects():
    go = asyncio.Event()

    async def slow(request):
        if not is_watch(request):
            await go.wait()
        return await hang(request) if is_watch(request) else listing(10)

    script = Script([listing(10, node("a", 1))])
    async with scripted(slow) as (_, slow_url), scripted(script) as (_, url), Watching(slow_url) as first:
        later = Watching(url)
        running = asyncio.create_task(later.reflector.run([first.reflector]))
        await until(lambda: first.relists("start"))
        assert script.asked == []
        go.set()
        await until(lambda: later.store.names == ["a"])
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await later.transport.close()
