"""A running pair: a simulated API server, a solver that a test scripts, and pages of metrics."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import grpc
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from grpc import aio

from cost_models.load_aware.defaults import DEFAULT_THRESHOLDS
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import NODES
from poseidon.testbed.seeding import NodeShape, create_nodes
from poseidon.ui.audience import PATIENCE, Audience
from poseidon.ui.sources.live import LiveOptions, LiveSource
from poseidon.ui.sources.source import NotExplainedError
from poseidon.ui.sources.thresholds import thresholds_in
from poseidon.ui.views.overview import show_overview
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.poseidon.ui.objects import NOW
from tests.support.cluster import pod, running_cluster
from tests.support.waiting import stays, until

SHAPE = NodeShape("small", cpu="4", memory="16Gi")


class FakeSolver(pb_grpc.SchedulerServicer):
    """Knows rounds, the flow of the last one, and what it is told of pods. ``old``: it does not know the new calls."""

    def __init__(self):
        self.rounds: list[pb.RoundSummary] = []
        self.old = False
        self.asked: list[str] = []

    def ran(self, number, ended=NOW):
        self.rounds.append(pb.RoundSummary(round=number, ended=ended, stats=pb.RoundStats(placed=1)))

    async def ListRounds(self, request, context):  # noqa: N802 - the name in the protocol
        self.asked.append("rounds")
        if self.old:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "not known")
        return pb.ListRoundsResponse(rounds=[each for each in self.rounds if each.round > request.after])

    async def DescribeFlow(self, request, context):  # noqa: N802
        self.asked.append("flow")
        last = self.rounds[-1].round if self.rounds else 0
        return pb.RoundFlow(round=last, machines=["n"]) if last > request.after else pb.RoundFlow()

    async def Session(self, request_iterator, context):  # noqa: N802
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "a page has no session")
        yield

    async def Schedule(self, request, context):  # noqa: N802
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "a page asks for nothing else")

    FindCures = ListState = ExportNetwork = DeleteCluster = Schedule

    async def Explain(self, request, context):  # noqa: N802
        self.asked.append("explain")
        if request.task == "unknown":
            await context.abort(grpc.StatusCode.NOT_FOUND, "not known")
        return pb.Explanation(
            task=request.task, machines=[pb.MachineVerdict(machine="n", feasible=True, cost=2)]
        )


@asynccontextmanager
async def solving(solver):
    server = aio.server()
    pb_grpc.add_SchedulerServicer_to_server(solver, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


@asynccontextmanager
async def pages(**content):
    async def answer(request):
        return web.Response(text=content[request.match_info["name"]])

    app = web.Application()
    app.router.add_get("/{name}", answer)
    async with TestServer(app) as server:
        yield f"http://127.0.0.1:{server.port}"


class Following:
    """A source that follows a cluster, with time of its own for the audience."""

    def __init__(self, url, *targets, base, **options):
        self.now = 0.0
        self.audience = Audience(lambda: self.now)
        self.transport = Transport(ConnectionSettings(url), clock=time.monotonic)
        environment = Environment(self.transport, random=random.Random(1), sleep=self._sleep)
        made = LiveOptions(targets, "c", f"{base}/metrics", f"{base}/metrics", **options)
        self.source = LiveSource(environment, made, self.audience)
        self.known = self.source.known

    async def _sleep(self, seconds):
        await asyncio.sleep(min(seconds, 0.02))

    async def __aenter__(self):
        await self.transport.__aenter__()
        self._task = asyncio.create_task(self.source.run())
        return self

    async def __aexit__(self, *_):
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.transport.__aexit__(*_)


METRICS = """
poseidon_nodes 2
poseidon_leader 1
poseidon_solver_connected 1
poseidon_pods_bound_total 5
firmament_round_failures_total 3
"""
CONFIGURATION = """
costModels:
- name: load_threshold
  args: {usageThresholds: {cpu: 50}}
"""


@asynccontextmanager
async def following(solver=None, **content):
    async with (
        running_cluster() as cluster,
        solving(solver or FakeSolver()) as target,
        pages(**{"metrics": METRICS, "configz": CONFIGURATION, **content}) as base,
    ):
        await create_nodes(cluster.operations, 2, [SHAPE], prefix="node")
        async with Following(cluster.url, target, base=base) as found:
            yield cluster, found


async def test_it_follows_the_cluster_and_asks_the_solver():
    solver = FakeSolver()
    solver.ran(4)
    async with following(solver) as (cluster, found):
        known = found.known
        await until(lambda: known.store.live, within=20)
        assert len(list(known.store.iter_nodes())) == 2
        create_object(cluster.operations, pod("p"))
        await until(lambda: known.store.counts() == (0, 1, 0), within=20)
        await until(lambda: known.rounds.latest == 4 and known.solver.state == "connected", within=20)
        assert known.about.capabilities.flow is True
        flow = await found.source.flow(0)
        assert (flow.round, list(flow.machines)) == (4, ["n"])
        record = known.store.pod("default/p")
        assert (await found.source.verdicts(record))["n"].cost == 2
        # asked again within 5 s, the solver is left in peace
        await found.source.verdicts(record)
        assert solver.asked.count("explain") == 1


async def test_figures_and_thresholds_come_from_the_programs():
    async with following() as (_, found):
        known = found.known
        found.audience.streams = 1
        await until(lambda: len(known.history.as_json()["at"]) > 1, within=20)
        assert known.history.latest is not None
        assert (known.history.latest.bound_in_all, known.leader.leads, known.solver.round_failures) == (
            5,
            True,
            3,
        )
        await until(lambda: known.store.thresholds == {"cpu": 50.0}, within=20)


async def test_a_solver_that_was_started_anew_counts_anew(monkeypatch):
    monkeypatch.setattr("poseidon.ui.intervals.FLOW_SECONDS", 0.0)
    solver = FakeSolver()
    for number in range(1, 8):
        solver.ran(number)
    async with following(solver) as (_, found):
        found.audience.streams = 1
        await until(lambda: found.known.rounds.latest == 7, within=20)
        assert (await found.source.flow(0)).round == 7
        solver.rounds.clear()
        solver.ran(1, NOW + 60)
        await until(lambda: found.known.rounds.latest == 1, within=20)
        assert [each["ended"] for each in found.known.rounds.summaries()] == [NOW + 60]

        async def newest() -> int:  # none while the one that is asked for all the time is under way
            flow = await found.source.flow(0)
            return flow.round if flow is not None else 0

        assert await until(newest) == 1


async def test_whoever_looks_at_a_flow_for_long_is_told_of_the_next(monkeypatch):
    monkeypatch.setattr("poseidon.ui.intervals.FLOW_SECONDS", 0.0)
    solver = FakeSolver()
    solver.ran(1)
    async with following(solver) as (_, found):
        found.audience.streams = 1
        await until(lambda: found.known.rounds.latest == 1, within=20)
        assert (await found.source.flow(0)).round == 1
        found.now += PATIENCE + 1  # the page is open, and asks for nothing while nothing happens
        found.known.versions.publish()
        before = found.known.versions.get("flow")
        solver.ran(2)
        await until(lambda: found.known.rounds.latest == 2, within=20)
        found.known.versions.publish()
        assert found.known.versions.get("flow") > before
        assert (await found.source.flow(0)).round == 2
        assert (await found.source.flow(1)).round == 1


def newer_session(known, before):
    known.versions.publish()
    return known.versions.get("session") > before


async def test_a_solver_or_bridge_that_goes_is_told_to_every_view():
    async with running_cluster() as cluster, AsyncExitStack() as bridge, AsyncExitStack() as solver:
        base = await bridge.enter_async_context(pages(metrics=METRICS, configz=""))
        target = await solver.enter_async_context(solving(FakeSolver()))
        async with Following(cluster.url, target, base=base) as found:
            known = found.known
            assert known.session()["solver"]["since"] == 0  # nobody has been asked yet
            assert known.session()["bridge"] == {"answers": None, "since": 0.0}
            found.audience.streams = 1
            await until(lambda: known.solver.state == "connected" and known.bridge.answers, within=20)
            since = known.solver.since
            assert since > 0
            for part, gone in ((solver, "solver"), (bridge, "bridge")):
                known.versions.publish()
                before = known.versions.get("session")
                await part.aclose()
                await until(partial(newer_session, known, before), within=20)
                assert known.session()[gone]["since"] >= since
            assert (known.solver.state, known.bridge.answers) == ("unreachable", False)


async def test_all_figures_of_the_overview_are_of_one_moment():
    async with following() as (cluster, found):
        known = found.known
        await until(lambda: known.store.live and known.counts is not None, within=20)
        for number in range(3):
            create_object(cluster.operations, pod(f"p{number}"))
        await until(lambda: len(known.store.waiting) == 3, within=20)
        found.audience.streams = 1
        await until(lambda: show_overview(known)["pods"]["pending"] == 3, within=20)
        known.store.waiting.clear()  # what changes after the last look
        shown = show_overview(known)
        assert shown["history"]["pending"][-1] == shown["pods"]["pending"] == shown["waiting"]["new"]
        assert sum(each["pods"] for each in shown["pendingByReason"]) == shown["pods"]["pending"]


async def test_flows_are_there_for_whoever_looks_at_the_overview(monkeypatch):
    monkeypatch.setattr("poseidon.ui.intervals.FLOW_SECONDS", 0.0)
    solver = FakeSolver()
    solver.ran(3)
    async with following(solver) as (_, found):
        found.audience.note_request("overview")
        await until(lambda: found.known.rounds.list_rounds() == [3], within=20)


async def test_an_old_solver_knows_no_flows():
    solver = FakeSolver()
    solver.old = True
    async with following(solver) as (_, found):
        await until(lambda: found.known.solver.state == "connected", within=20)
        assert found.known.about.capabilities.flow is False


def stands(solver, state, target):
    return (solver.state, solver.target) == (state, target)


async def test_of_several_solvers_the_one_that_drives_the_cluster_is_asked():
    class Standby(FakeSolver):
        async def ListRounds(self, request, context):  # noqa: N802
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such cluster")

    driving = FakeSolver()
    driving.ran(9)
    async with running_cluster() as cluster, solving(Standby()) as first, solving(driving) as second:
        for targets, state, latest in (
            ([first, "127.0.0.1:1", second], ("connected", second), 9),
            ([first, "127.0.0.1:1"], ("connected", first), 0),
        ):
            async with Following(cluster.url, *targets, base="http://127.0.0.1:1") as found:
                await until(partial(stands, found.known.solver, *state), within=20)
                assert found.known.rounds.latest == latest


async def test_nobody_answers():
    async with (
        running_cluster() as cluster,
        Following(cluster.url, "127.0.0.1:1", base="http://127.0.0.1:1") as found,
    ):
        await until(lambda: found.known.store.live, within=20)
        await until(lambda: found.known.history.as_json()["at"], within=20)
        assert set(found.known.history.as_json()["boundPerSecond"]) == {None}
        assert found.known.solver.state == "unreachable"
        create_object(cluster.operations, pod("p"))
        await until(lambda: found.known.store.pod("default/p") is not None, within=20)
        with pytest.raises(NotExplainedError, match="no solver answers"):
            await found.source.verdicts(found.known.store.pod("default/p"))


async def is_at_rest(asked: list[str]) -> bool:
    """Say whether nothing more is asked for a while."""
    before = len(asked)
    try:
        await stays(lambda: len(asked) == before, 0.3)
    except AssertionError:
        return False
    return True


async def test_a_page_that_nobody_looks_at_asks_the_solver_nothing_and_goes_on_taking_figures():
    solver = FakeSolver()
    async with following(solver) as (_, found):
        await until(lambda: found.known.solver.state == "connected", within=20)
        history = found.known.history
        await until(lambda: len(history.as_json()["at"]) > 3, within=20)
        await until(lambda: found.known.store.requested.taken > 1, within=20)
        at_rest = len(solver.asked)
        await stays(lambda: len(solver.asked) == at_rest, 0.3)
        found.audience.note_request()
        await until(lambda: len(solver.asked) > at_rest + 2, within=20)
        found.now += PATIENCE + 1
        await until(lambda: is_at_rest(solver.asked), within=20)
        # flows are asked for only while somebody looks at them
        assert "flow" not in solver.asked


async def test_nodes_change_and_go():
    async with following() as (cluster, found):
        store = found.known.store
        await until(lambda: store.live, within=20)
        name = next(store.iter_nodes()).name
        cluster.operations.delete(NODES, "", name)
        await until(lambda: name not in {each.name for each in store.iter_nodes()}, within=20)


@pytest.mark.parametrize(
    ("models", "thresholds"),
    [
        (None, {}),
        ([{"name": "cpu_mem"}], {}),
        ([{"name": "load_threshold"}], DEFAULT_THRESHOLDS),
        (
            [{"name": "load_threshold", "args": {"usageThresholds": {"cpu": 40, "memory": "x"}}}],
            {"cpu": 40.0},
        ),
        ("nonsense", {}),
        ([{"name": "load_threshold", "args": []}, 5], DEFAULT_THRESHOLDS),
    ],
)
def test_thresholds_in_a_configuration(models, thresholds):
    assert thresholds_in(models) == thresholds
