"""Programs as the dashboard reads them: which solver answers, what it has decided, who leads, and the figures."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import pytest
from aiohttp import web
from grpc import aio

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.leadership.options import LeaderElectionOptions
from poseidon.ui.cluster.store import ClusterStore
from poseidon.ui.page_data import About, Capabilities, Known, SolverStatus
from poseidon.ui.sources.figures import MetricsPoll
from poseidon.ui.sources.lease import LeasePoll
from poseidon.ui.sources.solver import SolverPoll
from poseidon.ui.versions import Versions
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.poseidon.kube.scripted_api import json, scripted, status

NOBODY = "127.0.0.1:1"


class Solver(pb_grpc.SchedulerServicer):
    """Answers with rounds, and the flow of the newest; or fails with a status."""

    def __init__(self, *rounds: int, fails: Any = None) -> None:
        self.rounds = {number: float(number) for number in rounds}
        self.fails = fails
        self.flow_rounds: list[int] = []

    async def ListRounds(self, request, context):  # noqa: N802 - the name in the protocol
        if self.fails is not None:
            await context.abort(self.fails, "no")
        found = [
            pb.RoundSummary(round=number, ended=ended)
            for number, ended in self.rounds.items()
            if number > request.after
        ]
        return pb.ListRoundsResponse(rounds=found)

    async def DescribeFlow(self, request, context):  # noqa: N802 - the name in the protocol
        self.flow_rounds.append(request.after)
        return pb.RoundFlow(round=max(self.rounds))

    async def Session(self, request_iterator, context):  # noqa: N802 - the name in the protocol
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "nobody asks for it")
        yield pb.ServerMessage()

    async def Schedule(self, request, context):  # noqa: N802 - the name in the protocol
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "nobody asks for more")

    Explain = FindCures = ListState = ExportNetwork = DeleteCluster = Schedule


def known() -> Known:
    about = About("live", "t", "c", Capabilities(), [])
    versions = Versions()
    return Known(about, ClusterStore(versions, lambda: 0.0), versions, SolverStatus("unreachable", ""))


@asynccontextmanager
async def polling(*solvers: Solver):
    """A poll of solvers, after one that does not answer, and what it knows."""
    targets, now = [NOBODY], [100.0]
    async with AsyncExitStack() as stack:
        for solver in solvers:
            server = aio.server()
            pb_grpc.add_SchedulerServicer_to_server(solver, server)
            targets.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
            await server.start()
            stack.push_async_callback(server.stop, None)
        found = known()
        yield SolverPoll(found, targets, "c", None, lambda: now[0]), found, targets, now


async def test_the_first_solver_that_knows_the_cluster_answers():
    knows_nothing, knows = Solver(fails=grpc.StatusCode.NOT_FOUND), Solver(1, 2)
    async with polling(knows_nothing, knows) as (poll, found, targets, now):
        await poll.step(flows=False)
        assert (found.solver.state, found.solver.target) == ("connected", targets[2])
        assert (found.solver.since, found.rounds.latest) == (100.0, 2)
        knows.fails = grpc.StatusCode.UNAVAILABLE
        now[0] = 200.0
        await poll.step(flows=False)
        assert (found.solver.state, found.solver.target, found.solver.since) == (
            "connected",
            targets[1],
            100.0,
        )
        knows_nothing.fails = grpc.StatusCode.UNAVAILABLE
        await poll.step(flows=False)
        assert (found.solver.state, found.solver.since) == ("unreachable", 200.0)
        assert found.solver.target == ", ".join(targets)
        assert not poll.is_asking


async def test_a_solver_that_refuses_the_bridge_answers_all_the_same():
    async with polling(Solver(1)) as (poll, found, _, _):
        found.solver.state, found.solver.since = "refused", 50.0
        await poll.step(flows=False)
        assert (found.solver.state, found.solver.since) == ("refused", 50.0)


async def test_rounds_of_a_solver_that_began_anew_replace_the_others():
    solver = Solver(1, 2, 3)
    async with polling(solver) as (poll, found, _, _):
        await poll.step(flows=False)
        solver.rounds[4] = 4.0
        before = found.versions.vector()["overview"]
        await poll.step(flows=False)
        found.versions.publish()
        assert [each["round"] for each in found.rounds.summaries()] == [1, 2, 3, 4]
        assert found.versions.vector()["overview"] > before
        solver.rounds = {1: 9.0, 2: 10.0}
        await poll.step(flows=False)
        assert [each["round"] for each in found.rounds.summaries()] == [1, 2]


async def test_flows_are_read_if_somebody_looks_and_a_newer_one_may_be_there():
    solver = Solver(1)
    async with polling(solver) as (poll, found, _, _):
        await poll.step(flows=False)
        assert found.about.capabilities.flow
        assert solver.flow_rounds == []
        await poll.step(flows=True)
        assert (solver.flow_rounds, found.rounds.latest_flow) == ([0], 1)
        assert not poll.flow_is_old
        await poll.step(flows=True)
        assert solver.flow_rounds == [0], "the solver was asked just now"


async def test_an_older_solver_has_neither_rounds_nor_flows():
    async with polling(Solver(fails=grpc.StatusCode.UNIMPLEMENTED)) as (poll, found, targets, _):
        found.about.capabilities.flow = True
        await poll.step(flows=True)
        assert (found.solver.state, found.solver.target) == ("connected", targets[1])
        assert not found.about.capabilities.flow


# --- leases and figures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configuration", "path"),
    [
        (None, "namespaces/poseidon/leases/poseidon"),
        (LeaderElectionOptions(), "namespaces/poseidon/leases/poseidon"),
        (
            LeaderElectionOptions(resource_name="own", resource_namespace="sched"),
            "namespaces/sched/leases/own",
        ),
    ],
)
async def test_the_leader_is_who_holds_the_lease_that_is_configured(configuration, path):
    holders = iter(
        [
            json({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}),
            status(404, "NotFound", "no"),
            json({"metadata": {"name": "l"}, "spec": {}}),
        ]
    )

    async def answer(request):
        assert request.path == f"/apis/coordination.k8s.io/v1/{path}"
        return next(holders)

    given = BridgeConfiguration(leader_election=configuration) if configuration is not None else None
    found = known()
    async with (
        scripted(answer) as (_, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as transport,
    ):
        poll = LeasePoll(found, transport, given)
        held = []
        for _ in range(3):
            await poll.step()
            held.append(found.leader.holder)
    assert held == ["a", "a", None], "what cannot be read changes nothing"


async def test_figures_come_from_both_programs_and_say_whether_the_bridge_answers():
    pages = {
        "bridge": "poseidon_leader 1\nposeidon_solver_refused 1\n",
        "solver": "firmament_round_failures_total 3\n",
    }

    async def answer(request):
        page = pages.get(request.path.strip("/"))
        return web.Response(text=page) if page is not None else web.Response(status=404)

    found = known()
    found.solver.state = "connected"
    async with scripted(answer) as (_, url):
        poll = MetricsPoll(found, f"{url}/bridge", f"{url}/solver", lambda: 1.0)
        await poll.step(5.0)
        assert (found.bridge.answers, found.leader.leads, found.solver.round_failures) == (True, True, 3)
        assert (found.solver.state, found.solver.since) == ("refused", 5.0)
        pages["bridge"] = "poseidon_leader 0\n"
        await poll.step(6.0)
        assert (found.leader.leads, found.solver.state, found.solver.since) == (False, "connected", 6.0)
        del pages["solver"]
        await poll.step(7.0)
        assert (found.bridge.answers, found.solver.round_failures) == (True, 0)
        del pages["bridge"]
        await poll.step(8.0)
        assert (found.bridge.answers, found.bridge.since) == (False, 8.0)
