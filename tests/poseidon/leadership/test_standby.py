"""Two bridges of one cluster over HTTP: the standby follows and writes nothing, and takes over when it may."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import BridgeProcess
from poseidon.bridge.supervisor import Supervisor
from poseidon.kube.client.errors import ApiError, NotLeaderError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.leadership.election import FENCING, Role
from poseidon.leadership.elector import Elector, LeadershipLostError, own_namespace
from poseidon.leadership.options import LeaderElectionOptions
from poseidon.lifecycle.phases import Stories
from poseidon.testbed.api_server.server import SimulatedCluster
from protos.conventions.logs import JsonFormatter
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_bridge import QUICK, Api, bound_pods
from tests.poseidon.kube.scripted_api import json as answered
from tests.poseidon.kube.scripted_api import listing, scripted, watch
from tests.support.waiting import until

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/poseidon"
OPTIONS = LeaderElectionOptions(leader_elect=True, lease_duration=2.0, renew_deadline=1.5, retry_period=0.2)


class Solver(ScriptedSolver):
    """A solver and where it listens."""

    port = 0


class Member:
    """A bridge that stands for election: its process's parts, without the process.

    The time of its Lease stands still until a test lets it pass, however slow the machine is.
    """

    def __init__(self, name: str, url: str, port: int, stack: AsyncExitStack) -> None:
        settings = ConnectionSettings(url)
        self.now = 1000.0
        self.free = Transport(settings, clock=time.monotonic, user_agent=f"{name}-free")
        environment = Environment(self.free, random=Random(name), clock=lambda: self.now)
        self.elector = Elector(environment, OPTIONS, name)
        self.fenced = Transport(
            settings, clock=time.monotonic, user_agent=name, may_write=self.elector.may_write
        )
        self.supervisor = Supervisor(
            BridgeProcess(
                Environment(self.fenced, random=Random(name)),
                Stories(time.monotonic),
                leadership=self.elector,
            ),
            BridgeOptions((f"127.0.0.1:{port}",), session=QUICK, instance=name),
            f"needs.{name}",
            standby_seconds=0.1,
        )
        self.stop = asyncio.Event()
        self.running = asyncio.create_task(self.supervisor.run(self.stop))
        stack.push_async_callback(self.end)

    def value(self, metric: str) -> float | None:
        return self.supervisor.registry.get_sample_value(metric)

    @property
    def knows(self) -> float:
        return (self.value("poseidon_nodes") or 0) + (self.value("poseidon_pending_pods") or 0)

    def pass_time(self, seconds: float) -> None:
        """Have its Lease be so much older, and what is due then be done."""
        self.now += seconds
        self.elector._wake.set()

    async def kill(self) -> None:
        """End it as SIGKILL would: it gives nothing back."""
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.fenced.close()
        await self.free.close()

    async def end(self) -> None:
        self.stop.set()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.fenced.close()
        await self.free.close()


@pytest.fixture
async def cluster():
    cluster = SimulatedCluster()
    await cluster.start()
    yield cluster
    await cluster.stop()


@pytest.fixture
async def api(cluster):
    api = Api(cluster.url)
    await api.node("n1")
    yield api
    await api.transport.close()


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def solver(stack):
    solver = Solver()
    solver.place_all = True
    solver.observers = "needs."
    solver.port = await stack.enter_async_context(running_solver(solver))
    return solver


async def lease(api: Api) -> Any:
    """Return the Lease, None if there is none."""
    try:
        return msgspec.json.decode(await api.transport.get(LEASE))
    except ApiError:
        return None


async def test_the_standby_binds_what_comes_after_its_leader_was_killed(cluster, api, solver, stack, caplog):
    caplog.set_level(logging.INFO, "poseidon")
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    second = Member("second", cluster.url, solver.port, stack)
    await api.pod("a")
    await until(lambda: len(solver.reports) == 1)
    await until(lambda: second.knows)
    assert not second.elector.may_write()
    assert solver.streams == 1
    assert (first.value("poseidon_leader"), second.value("poseidon_leader")) == (1, 0)
    number = solver.hellos[-1].fencing
    await first.kill()
    await api.pod("b")
    second.pass_time(OPTIONS.lease_duration)
    await until(lambda: len(solver.reports) == 2)
    assert set(await bound_pods(api)) == {"a", "b"}
    assert second.elector.role is Role.LEADER
    assert solver.hellos[-1].fencing == second.elector.fencing > number
    lines = [json.loads(JsonFormatter().format(each)) for each in caplog.records]
    told = [line for line in lines if line["logger"] == "leadership.elector"]
    assert {line["msg"] for line in told} >= {"standing by", "leading"}
    assert all({"lease", "leader"} <= line.keys() for line in told if line["msg"] == "standing by")


async def test_a_leader_that_leaves_in_order_is_followed_at_once(cluster, api, solver, stack):
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    second = Member("second", cluster.url, solver.port, stack)
    await until(lambda: second.knows)
    first.stop.set()
    await first.running
    await until(lambda: second.elector.role is Role.LEADER)  # and no time has passed
    await api.pod("b")
    await until(lambda: solver.reports)
    with pytest.raises(NotLeaderError):
        await first.fenced.post("/api/v1/namespaces/default/pods", b"{}")


async def test_a_standby_learns_in_time_that_the_solver_needs_something_else(cluster, api, solver, stack):
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    second = Member("second", cluster.url, solver.port, stack)
    await until(lambda: second.knows)
    before, leading = second.supervisor.registry, first.supervisor.registry
    solver.needs = frozenset({"labels:tier"})
    await until(lambda: second.supervisor.registry is not before and second.knows)
    assert first.supervisor.registry is leading, "who leads is told by its stream"
    ready = second.supervisor.registry
    await first.kill()
    await api.pod("b")
    second.pass_time(OPTIONS.lease_duration)
    await until(lambda: solver.reports)
    assert second.supervisor.registry is ready, "nothing is read anew"
    assert second.elector.role is Role.LEADER


async def test_a_standby_writes_nothing(cluster, api, solver, stack):
    Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    second = Member("second", cluster.url, solver.port, stack)
    await until(lambda: second.knows)
    with pytest.raises(NotLeaderError, match="does not lead"):
        await second.fenced.post("/api/v1/namespaces/default/pods", b"{}")
    with pytest.raises(NotLeaderError):
        await second.fenced.delete("/api/v1/namespaces/default/pods/x")
    with pytest.raises(NotLeaderError):
        await second.fenced.patch("/api/v1/namespaces/default/pods/x", b"{}")
    assert b"items" in await second.fenced.get("/api/v1/pods")


async def test_who_is_displaced_ends_without_another_write(cluster, api, solver, stack):
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    spec = {"holderIdentity": "somebody", "renewTime": "2030-01-01T00:00:00.000000Z"}
    await api.transport.patch(LEASE, msgspec.json.encode({"spec": spec}), MERGE_PATCH)
    with pytest.raises(LeadershipLostError, match="taken by another"):
        await first.running
    assert not first.elector.may_write()


async def test_a_leader_that_cannot_renew_stops_writing_and_ends(cluster, api, solver, stack, caplog):
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    await cluster.stop()
    first.pass_time(OPTIONS.renew_deadline - 0.1)
    await until(lambda: "lease not written" in caplog.text)
    assert first.elector.may_write()
    first.pass_time(0.1)
    assert not first.elector.may_write()
    with pytest.raises(LeadershipLostError, match="not renewed in time"):
        await first.running
    assert not first.elector.may_write()


async def test_a_lease_that_somebody_deletes_is_written_again(cluster, api, solver, stack):
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    fencing = (await lease(api))["metadata"]["annotations"][FENCING]
    await api.transport.delete(LEASE)
    await until(lambda: not first.elector._election.holder)
    first.pass_time(OPTIONS.retry_period)
    await until(lambda: lease(api))
    found = await lease(api)
    assert found["spec"]["holderIdentity"] == "first"
    assert found["metadata"]["annotations"][FENCING] == fencing
    assert first.elector.may_write()


def test_the_namespace_is_that_of_the_pod(tmp_path):
    (tmp_path / "namespace").write_text("scheduling\n")
    assert own_namespace(tmp_path / "namespace") == "scheduling"
    assert own_namespace(tmp_path / "none") == "default"


async def test_who_gives_the_lease_back_has_ended_at_once_whatever_it_hears_of_that():
    async def answer(request):
        if request.method != "GET":
            return answered(
                {"metadata": {"name": "poseidon", "resourceVersion": "2"}, "spec": {"holderIdentity": "it"}}
            )
        return await watch(request, then="hang") if "watch" in request.query else listing(1)

    slow = LeaderElectionOptions(lease_duration=3000, renew_deadline=2500, retry_period=2000)
    async with (
        scripted(answer) as (_, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        elector = Elector(Environment(transport, random=Random(1)), slow, "it")
        running = asyncio.create_task(elector.run())
        await elector.wait_elected()
        await elector.release()
        await until(running.done)
        assert running.exception() is None


@asynccontextmanager
async def elected(options: LeaderElectionOptions, gate: asyncio.Event):
    """Yield an API server, a leader, its task, and ``renew(at)``.

    That sets the leader's clock, and waits until the leader renews its lease; the renewal hangs until ``gate`` is set.
    """
    renewing, now = asyncio.Event(), [0.0]

    async def answer(request):
        if request.method == "GET":
            return await watch(request, then="hang") if "watch" in request.query else listing(1)
        if request.method == "PATCH":
            renewing.set()
            await gate.wait()
        return answered(
            {"metadata": {"name": "poseidon", "resourceVersion": "2"}, "spec": {"holderIdentity": "it"}}
        )

    async def renew(at: float) -> None:
        now[0] = at
        elector._wake.set()
        await renewing.wait()

    async with (
        scripted(answer) as (api, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        elector = Elector(Environment(transport, random=Random(1), clock=lambda: now[0]), options, "it")
        running = asyncio.create_task(elector.run())
        await elector.wait_elected()
        yield api, elector, running, renew


async def test_who_cannot_give_the_lease_back_has_ended_once_its_renewal_has(monkeypatch):
    """A renewal hangs for longer than is waited for; when it comes back, nothing more is written or waited for."""
    gate = asyncio.Event()
    slow = LeaderElectionOptions(lease_duration=3000, renew_deadline=2500, retry_period=2000)
    async with elected(slow, gate) as (api, elector, running, renew):
        await renew(2200.0)
        monkeypatch.setattr("poseidon.leadership.elector._PATIENCE", 0.01)
        await elector.release()
        assert not elector.may_write()
        gate.set()
        await until(running.done)
        assert running.exception() is None
        assert [method for method, *_ in api.requests if method == "PATCH"] == ["PATCH"]


async def test_a_renewal_under_way_does_not_keep_the_lease_from_being_given_back(
    cluster, api, solver, stack, monkeypatch
):
    first = Member("first", cluster.url, solver.port, stack)
    await until(lambda: solver.synced)
    patch, gate, begun, in_turn = first.free.patch, asyncio.Event(), asyncio.Event(), asyncio.Lock()

    async def slow(*given: Any) -> bytes:
        begun.set()
        async with in_turn:
            await gate.wait()
            return await patch(*given)

    monkeypatch.setattr(first.free, "patch", slow)
    first.pass_time(OPTIONS.retry_period)
    await begun.wait()
    leaving = asyncio.create_task(first.elector.release())
    await asyncio.sleep(0)
    gate.set()
    await leaving
    assert "holderIdentity" not in (await lease(api))["spec"]
    assert not first.elector.may_write()


async def test_the_namespace_of_the_lease_is_the_one_configured_and_its_file_may_be_empty(tmp_path):
    (tmp_path / "namespace").write_text("\n")
    assert own_namespace(tmp_path / "namespace") == "default"
    paths = []

    async def answer(request):
        paths.append(request.path)
        return await watch(request, then="hang") if "watch" in request.query else listing(1)

    options = LeaderElectionOptions(resource_namespace="scheduling")
    async with (
        scripted(answer) as (_, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        running = asyncio.create_task(Elector(Environment(transport, random=Random(1)), options, "it").run())
        await until(lambda: paths)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert paths[0] == "/apis/coordination.k8s.io/v1/namespaces/scheduling/leases"


async def test_a_renewal_that_hangs_is_given_up_after_half_the_deadline_so_that_another_can_be_made(
    monkeypatch, caplog
):
    """Time is that of the loop, and stands still until the test lets it pass."""
    options = LeaderElectionOptions(lease_duration=15, renew_deadline=10, retry_period=2)
    async with elected(options, asyncio.Event()) as (_, _, running, renew):
        loop = asyncio.get_running_loop()
        ticks = [loop.time()]
        monkeypatch.setattr(loop, "time", lambda: ticks[0])
        await renew(2.0)
        told = []
        for passed in (4.9, 0.2):
            ticks[0] += passed
            for _ in range(50):
                await asyncio.sleep(0)
            told.append("lease not written, trying again" in caplog.text)
        monkeypatch.undo()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert told == [False, True]
