"""When the controller follows, settles, writes, tries again and rests, with a clock and a sleep of the tests' own."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from poseidon.app_network.controller import CONCURRENCY, GATHER_SECONDS, REST, NetworkController
from poseidon.app_network.options import NetworkArguments, NetworkOptions
from poseidon.app_network.state import NetworkState
from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.kube.write.event_writer import EventWriter
from tests.poseidon.app_network.definitions import definitions
from tests.poseidon.app_network.scene import APP_GROUPS, CONFIG_MAPS, CRDS, EVENTS, TOPOLOGIES
from tests.poseidon.app_network.test_app_group_controller import app_group
from tests.poseidon.app_network.test_members import pod
from tests.support.cluster import running_cluster
from tests.support.waiting import stays, until

SHOP = f"{APP_GROUPS}/shop"


class Scene:
    """A controller whose pauses end at once; ``paused`` notes how long they would have been."""

    def __init__(self, transport: Transport, *, writes: bool = True) -> None:
        self.transport = transport
        self.paused: list[float] = []
        self.now = 100.0
        self.changes = 0
        self.elected = asyncio.Event()
        self.registry = CollectorRegistry()
        self.environment = Environment(
            transport,
            random=Random(1),
            sleep=self._sleep,
            clock=lambda: self.now,
            metrics=KubeMetrics(self.registry),
            reflector=ReflectorOptions(absent_seconds=0.05),
        )
        self.book = NetworkState(NetworkOptions(), NetworkArguments())
        events = None
        if writes:
            events = EventWriter(
                self.environment, self._quiet, component="c", instance="i", kind="object event"
            )
        self.controller = NetworkController(
            self.environment, self.book, events, self._changed, may_begin=self._wait_elected
        )
        self.patches: list[str] = []
        self.failures: list[Exception] = []
        replaced: Any = transport
        self._patch = replaced.patch
        replaced.patch = self._note_patch

    async def _wait_elected(self) -> None:
        await self.elected.wait()

    async def _quiet(self, *_: Any) -> None:
        return

    async def _sleep(self, seconds: float) -> None:
        self.paused.append(seconds)
        await asyncio.sleep(0)

    async def _note_patch(self, path: str, body: bytes, kind: str) -> bytes:
        self.patches.append(path)
        if self.failures:
            raise self.failures.pop(0)
        self.now += 2.0
        return await self._patch(path, body, kind)

    def _changed(self) -> None:
        self.changes += 1

    async def post(self, path: str, body: Any) -> Any:
        return msgspec.json.decode(await self.transport.post(path, msgspec.json.encode(body)))

    async def status(self, path: str = SHOP) -> Any:
        return msgspec.json.decode(await self.transport.get(path)).get("status")

    async def is_written(self) -> bool:
        return bool(await self.status())

    def count(self, result: str) -> float:
        labels = {"kind": "object status", "result": result}
        return self.registry.get_sample_value("poseidon_status_writes_total", labels) or 0.0


@asynccontextmanager
async def scene(*, writes: bool = True, elected: bool = True, groups: int = 1):
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        made = Scene(transport, writes=writes)
        for each in definitions():
            await made.post(CRDS, each)
        for number in range(groups):
            await made.post(APP_GROUPS, app_group("ab", name=f"shop{number or ''}"))
        if elected:
            made.elected.set()
        running = asyncio.create_task(made.controller.run())
        try:
            yield made
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_status_is_written_once_and_counted():
    async with scene() as s:
        assert not s.controller.has_settled
        await until(s.is_written)
        assert s.controller.has_settled
        assert s.changes >= 1
        await until(lambda: s.count("written") == 1)
        s.controller.wake()
        await stays(lambda: s.patches == [SHOP], 0.03)
        assert s.count("conflict") == 0
        assert s.paused[0] == GATHER_SECONDS
        await until(lambda: 2.0 * REST in s.paused, what="the pause after two seconds of writing")


async def test_nothing_is_written_before_this_process_leads_or_without_events():
    async with scene(elected=False) as s:
        await until(lambda: s.controller.has_settled)
        await stays(lambda: not s.patches, 0.02)
        s.elected.set()
        await until(s.is_written)
    async with scene(writes=False) as s:
        await until(lambda: s.controller.has_settled)
        await s.controller.wait_drained()
        await stays(lambda: not s.patches, 0.02)


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (UnreachableError("gone"), True),
        (ApiError(503, "", "busy"), True),
        (ApiError(429, "", "slow down", 7.5), True),
        (ApiError(403, "Forbidden", "no"), False),
        (ApiError(422, "Invalid", "no"), False),
    ],
)
async def test_a_write_that_fails_for_now_is_made_again_and_a_refused_one_is_not(error, again):
    async with scene(elected=False) as s:
        s.failures = [error]
        s.elected.set()
        await until(lambda: s.patches)
        if again:
            await until(s.is_written)
            assert len(s.patches) == 2
            [delay] = [each for each in s.paused[1:] if each != GATHER_SECONDS][:1]
            assert delay == 7.5 if isinstance(error, ApiError) and error.retry_after else 0.0 < delay < 7.5
        else:
            s.controller.wake()
            await stays(lambda: len(s.patches) == 1, 0.03)


async def test_an_object_that_cannot_be_written_holds_up_no_other(may_set_aside):
    async with scene(elected=False, groups=2) as s:
        s.failures = [ValueError("a fault")]
        s.elected.set()
        await until(lambda: len(s.patches) == 2)
        await until(lambda: s.count("written") == 1)
        assert "a fault" in s.environment.quarantine.reason("writes of AppGroup", "default/shop")


async def test_many_objects_are_written_a_few_at_a_time():
    async with scene(elected=False, groups=CONCURRENCY + 3) as s:
        at_once, most = 0, 0
        patch = s.transport.patch

        async def count(path: str, body: bytes, kind: str) -> bytes:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            try:
                return await patch(path, body, kind)
            finally:
                at_once -= 1

        s.transport.patch = count
        s.elected.set()
        await until(lambda: s.count("written") == CONCURRENCY + 3)
        assert most == CONCURRENCY


async def test_an_object_that_has_changed_meanwhile_is_read_and_written_anew():
    async with scene(elected=False) as s:
        await until(lambda: s.controller.has_settled)
        patch, others = s.transport.patch, [b'{"metadata":{"labels":{"theirs":"1"}}}']

        async def interfere(path: str, body: bytes, kind: str) -> bytes:
            if others:
                await s._patch(path, others.pop(), MERGE_PATCH)
            return await patch(path, body, kind)

        s.transport.patch = interfere
        s.elected.set()
        await until(s.is_written)
        assert s.count("conflict") == 1
        await until(lambda: s.count("written") == 1)


async def test_people_are_told_of_a_fault_once():
    async with scene() as s:
        await until(s.is_written)
        await s.transport.patch(SHOP, b'{"spec":{"topologySortingAlgorithm":5}}', MERGE_PATCH)

        async def events() -> list[str]:
            found = msgspec.json.decode(await s.transport.get(EVENTS))["items"]
            return [each["reason"] for each in found]

        await until(lambda: len(s.patches) == 3, what="the status, the fault, and the status that names it")
        await s.controller.wait_drained()
        s.controller.wake()
        assert await events() == ["InvalidSpec"]


async def test_costs_in_a_config_map_are_followed_as_long_as_a_network_names_it():
    async with scene(groups=0, writes=False) as s:
        network = {
            "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
            "kind": "NetworkTopology",
            "metadata": {"name": "net"},
            "spec": {"configmapName": "netperf", "weights": []},
        }
        await s.post(TOPOLOGIES, network)
        await until(lambda: s.book.topologies.list_config_maps() == {("default", "netperf")})
        await until(lambda: s.controller.has_settled)
        found: list[Any] = []
        take = s.book.config_map_changed

        def note(name: Any, data: Any) -> None:
            found.append((name, data and dict(data)))
            take(name, data)

        s.book.config_map_changed = note
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "netperf"}, "data": {"k": "v"}}
        changes = s.changes
        await s.post(CONFIG_MAPS, body)
        await until(lambda: found == [(("default", "netperf"), {"k": "v"})])
        assert s.changes == changes + 1
        await s.transport.delete(f"{TOPOLOGIES}/net")
        await until(lambda: found[1:] == [(("default", "netperf"), None)])


async def test_a_controller_at_rest_does_nothing_until_it_is_woken():
    async with scene() as s:
        await until(lambda: s.count("written") == 1)
        await until(lambda: 2.0 * REST in s.paused)
        await stays(lambda: True, 0.02)
        paused = len(s.paused)
        await stays(lambda: len(s.paused) == paused, 0.03)
        s.book.members.pod_changed("1", pod("shop", "a", "n1", "Running"))
        await stays(lambda: len(s.paused) == paused, 0.02)
        s.controller.wake()

        async def is_counted() -> bool:
            return (await s.status())["runningWorkloads"] == 1

        await until(is_counted)


async def test_a_write_that_comes_too_late_for_its_object_is_no_fault():
    async with scene(elected=False) as s:
        await until(lambda: s.controller.has_settled)
        patch = s.transport.patch

        async def delete_first(path: str, body: bytes, kind: str) -> bytes:
            await s.transport.delete(path)
            return await patch(path, body, kind)

        s.transport.patch = delete_first
        s.elected.set()
        await until(lambda: s.count("written") == 1)
        assert len(s.environment.quarantine) == 0


async def test_who_waits_for_the_cluster_is_told_that_there_is_nothing_in_it():
    async with scene(groups=0, writes=False) as s:
        await until(lambda: s.controller.has_settled)
        assert s.changes >= 1
