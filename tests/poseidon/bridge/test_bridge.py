"""The whole bridge between a simulated API server and a scripted solver."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.bridge.solver_stream.session import SessionOptions
from poseidon.kube.client.credentials import HeaderCredentials
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.lifecycle.refused_deltas import ROUNDS
from poseidon.testbed.api_server.server import SimulatedCluster
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.support.time_limits import stretch
from tests.support.waiting import until

QUICK = SessionOptions(backoff_initial=0.01, backoff_cap=0.05)


class Api:
    """Short-hand for requests of a test."""

    def __init__(self, url, authorize=None):
        credentials = HeaderCredentials(authorize) if authorize is not None else None
        self.transport = Transport(ConnectionSettings(url, credentials=credentials), clock=time.monotonic)

    async def items(self, path):
        return msgspec.json.decode(await self.transport.get(path))["items"]

    async def pods(self):
        return {pod["metadata"]["name"]: pod for pod in await self.items("/api/v1/pods")}

    async def create(self, path, obj):
        return msgspec.json.decode(await self.transport.post(path, msgspec.json.encode(obj)))

    async def node(self, name):
        resources = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        status = {"allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]}
        await self.create(
            "/api/v1/nodes",
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status},
        )

    async def pod(self, name, scheduler="poseidon", node=None):
        spec = {"schedulerName": scheduler, "containers": [{"name": "main", "image": "none"}]}
        if node:
            spec["nodeName"] = node
        return await self.create(
            "/api/v1/namespaces/default/pods",
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec},
        )

    async def bind(self, name, node):
        await self.create(
            f"/api/v1/namespaces/default/pods/{name}/binding",
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"name": node}},
        )


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
    await api.node("n2")
    yield api
    await api.transport.close()


@asynccontextmanager
async def bridging(cluster, port, **options):
    registry = CollectorRegistry()
    async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
        bridge = Bridge(
            BridgeProcess(Environment(transport, random=Random(1))),
            BridgeOptions((f"127.0.0.1:{port}",), session=QUICK, **options),
            registry,
        )
        stop = asyncio.Event()
        running = asyncio.create_task(bridge.run(stop))
        try:
            yield registry
        finally:
            stop.set()
            await asyncio.wait_for(running, stretch(20))


async def bound_pods(api):
    return {
        name: pod["spec"]["nodeName"] for name, pod in (await api.pods()).items() if "nodeName" in pod["spec"]
    }


async def test_pods_are_bound_reported_and_announced(cluster, api):
    for index in range(20):
        await api.pod(f"p{index}")
    await api.pod("theirs", scheduler="default-scheduler")
    await api.pod("elsewhere", scheduler="default-scheduler", node="n2")
    solver = ScriptedSolver()
    solver.place_all = True
    async with running_solver(solver) as port:
        async with bridging(cluster, port) as registry:
            await until(lambda: len(solver.reports) == 20)
            rounds = registry.get_sample_value("poseidon_rounds_total")
            await api.pod("late")
            await until(lambda: len(solver.reports) == 21)
            assert registry.get_sample_value("poseidon_rounds_total") > rounds > 0
            stands = {
                name: registry.get_sample_value(f"poseidon_{name}")
                for name in ("nodes", "leader", "pending_pods")
            }
            assert stands == {"nodes": 2, "leader": 1, "pending_pods": 0}
        assert all(report.bound for report in solver.reports)
        assert all(state == BOUND for state, _ in solver.states().values())
    bound = await bound_pods(api)
    assert len(bound) == 22
    assert "theirs" not in bound
    events = await api.items("/api/v1/events")
    assert len(events) == 21, "one per binding, and written before the process ends"
    event = next(e for e in events if e["involvedObject"]["name"] == "late")
    assert event["message"] == f"Successfully assigned default/late to {bound['late']}"
    assert (event["type"], event["reason"], event["source"]) == (
        "Normal",
        "Scheduled",
        {"component": "poseidon"},
    )


async def test_pods_that_fit_nowhere_are_told_once(cluster, api):
    for index in range(50):
        await api.pod(f"p{index}")
    solver = ScriptedSolver()
    message = "0/2 nodes are available: 2 Insufficient cpu."

    def written(registry, kind):
        return (
            registry.get_sample_value("poseidon_status_writes_total", {"kind": kind, "result": "written"})
            or 0
        )

    async with running_solver(solver) as port:
        async with bridging(cluster, port) as registry:
            await until(lambda: solver.synced)
            solver.round(message)
            await until(lambda: written(registry, "condition") == 50 and written(registry, "event") == 50)
            assert registry.get_sample_value("poseidon_pending_pods") == 50
            assert registry.get_sample_value("poseidon_nodes") == 2
            solver.round(message)
            solver.abort()
            await until(lambda: solver.streams == 2 and solver.synced)
            solver.round(message)
            # A round that says something new shows that the repetitions have been dealt with.
            solver.view.tasks = dict(list(solver.view.tasks.items())[:1])
            solver.round("0/2 nodes are available: 2 Insufficient memory.")
            await until(lambda: written(registry, "condition") == 51 and written(registry, "event") == 51)
        async with bridging(cluster, port) as registry:
            await until(lambda: solver.streams == 3 and solver.synced)
            solver.round(message)
            await until(lambda: written(registry, "condition") == 1 and written(registry, "event") == 1)
    events = await api.items("/api/v1/events")
    assert {e["reason"] for e in events} == {"FailedScheduling"}
    assert sorted(e["count"] for e in events) == [1] * 50 + [2]
    for pod in (await api.pods()).values():
        [condition] = [c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled"]
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert condition["message"] == message


async def test_a_new_stream_learns_what_was_bound(cluster, api):
    for index in range(5):
        await api.pod(f"p{index}")
    solver = ScriptedSolver()
    async with running_solver(solver) as port, bridging(cluster, port):
        await until(lambda: solver.synced)
        solver.round()
        await until(lambda: len(solver.reports) == 5)
        solver.abort()
        await until(lambda: solver.streams == 2 and solver.synced)
        assert all(state == BOUND for state, _ in solver.states().values())
        await api.pod("new")
        await until(lambda: PENDING in {state for state, _ in solver.states().values()})


async def test_deltas_are_checked_against_the_cluster(cluster, api):
    await api.pod("a")
    solver = ScriptedSolver()
    async with running_solver(solver) as port, bridging(cluster, port):
        await until(lambda: solver.synced)
        await api.bind("a", "n2")
        solver.round()
        await until(lambda: solver.states() and set(solver.states().values()) == {(BOUND, "n2")})
    assert (await bound_pods(api))["a"] == "n2"


async def test_dry_run_writes_nothing(cluster, api, caplog):
    caplog.set_level("INFO", logger="poseidon")
    await api.pod("a")
    solver = ScriptedSolver()
    async with running_solver(solver) as port, bridging(cluster, port, dry_run=True):
        await until(lambda: solver.synced)
        solver.round()
        await until(lambda: "would bind pod=default/a node=n1" in caplog.text)
    assert await bound_pods(api) == {}
    assert await api.items("/api/v1/events") == []


async def test_the_api_server_may_start_late(api, cluster, caplog):
    port = int(cluster.url.rpartition(":")[2])
    await cluster.stop()
    solver = ScriptedSolver()
    async with running_solver(solver) as solver_port, bridging(cluster_at(cluster, port), solver_port):
        await until(lambda: "api server request failed" in caplog.text)
        await cluster.start(port=port)
        await until(lambda: solver.synced)
        assert set(solver.view.machines) == {"n1", "n2"}


def cluster_at(cluster, port):
    """Something with the URL that the cluster had, and will have again."""

    class Stopped:
        url = f"http://127.0.0.1:{port}"

    return Stopped()


async def test_a_solver_that_evicts_without_reason_again_and_again_is_left_alone(cluster, api, caplog):
    solver = ScriptedSolver()
    solver.place_all = True
    await api.pod("a")
    async with running_solver(solver) as port, bridging(cluster, port) as registry:
        await until(lambda: len(solver.reports) == 1)
        uid = solver.reports[0].task
        await until(lambda: solver.states() == {uid: (BOUND, solver.reports[0].machine)})
        for number in range(ROUNDS):
            result = pb.RoundResult(round=number + 2)
            result.deltas.add(kind=pb.Delta.PREEMPT, task=uid, machine=solver.reports[0].machine)
            solver._send(pb.ServerMessage(round=result))
        await until(lambda: registry.get_sample_value("poseidon_solver_distrusted_total") == 1)
        assert registry.get_sample_value("poseidon_solver_connected") == 0
    assert "a" in await bound_pods(api), "it stays where it is"
    [line] = [each.message for each in caplog.records if "left alone" in each.message]
    assert "asked for what no honest solver asks for in 30 rounds within 60 s" in line


async def test_a_solver_that_asks_for_little_is_trusted_however_often_it_asks(cluster, api):
    solver = ScriptedSolver()
    solver.place_all = True
    await api.pod("a")
    async with running_solver(solver) as port, bridging(cluster, port) as registry:
        await until(lambda: len(solver.reports) == 1)
        for number in range(2 * ROUNDS):
            solver._send(pb.ServerMessage(round=pb.RoundResult(round=number + 2)))
        await until(lambda: registry.get_sample_value("poseidon_rounds_total") >= 2 * ROUNDS)
        assert registry.get_sample_value("poseidon_solver_distrusted_total") == 0
        assert registry.get_sample_value("poseidon_solver_streams_total") == 1


async def test_a_round_that_comes_while_the_bridge_stops_is_left_to_its_successor(cluster, api):
    await api.pod("a")
    async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
        solver = ScriptedSolver()
        async with running_solver(solver) as port:
            process = BridgeProcess(Environment(transport, random=Random(1)))
            options = BridgeOptions((f"127.0.0.1:{port}",), session=QUICK)
            bridge = Bridge(process, options, CollectorRegistry())
            stop = asyncio.Event()
            running = asyncio.create_task(bridge.run(stop))
            await until(solver.states)
            [uid] = solver.states()
            stop.set()
            await asyncio.wait_for(running, stretch(20))
        late = pb.RoundResult(round=9, deltas=[pb.Delta(kind=pb.Delta.PLACE, task=uid, machine="n1")])
        await bridge.on_round(late)
        assert [record.place for record in bridge.state.tasks] == [""]
