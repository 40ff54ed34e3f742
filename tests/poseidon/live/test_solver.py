"""Questions to running solvers: the first that knows the answer gives it; what is said if none does."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc import aio

from poseidon.live.solver import NoAnswerError, explain_task, find_cures, list_clusters, read_state
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

NOBODY = "127.0.0.1:1"


class Solver(pb_grpc.SchedulerServicer):
    """Serves one cluster, or refuses every question with a status and a text."""

    def __init__(self, cluster: str = "", refuses: Any = None, text: str = "") -> None:
        self._cluster, self._refuses, self._text = cluster, refuses, text

    async def _look(self, request, context) -> None:
        if self._refuses is not None:
            await context.abort(self._refuses, self._text)
        if request.cluster not in ("", self._cluster):
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such cluster")

    async def Explain(self, request, context):  # noqa: N802 - the name in the protocol
        await self._look(request, context)
        return pb.Explanation(machine=f"{self._cluster}/{request.task}")

    async def FindCures(self, request, context):  # noqa: N802 - the name in the protocol
        await self._look(request, context)
        return pb.FoundCures(cures=[pb.Cure(machine=each) for each in request.fixed])

    async def ListState(self, request, context):  # noqa: N802 - the name in the protocol
        await self._look(request, context)
        return pb.ListStateResponse(clusters=[self._cluster], machines=7)


make_solver: Any = Solver  # which answers only some of the protocol's questions


@asynccontextmanager
async def serving(*solvers: Any):
    """Give the addresses of solvers."""
    servers, targets = [], []
    for each in solvers:
        server = aio.server()
        pb_grpc.add_SchedulerServicer_to_server(each, server)
        targets.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        await server.start()
        servers.append(server)
    try:
        yield targets
    finally:
        for server in servers:
            await server.stop(None)


async def test_the_first_solver_that_knows_the_cluster_answers():
    async with serving(make_solver("a"), make_solver("b"), make_solver("b")) as targets:
        found = await explain_task([NOBODY, *targets], "b", "t", 5.0)
        assert found is not None
        assert found.machine == "b/t"
        assert await explain_task(targets, "c", "t", 5.0) is None
        assert await explain_task([NOBODY, *targets], "c", "t", 5.0) is None
        cures = await find_cures(targets, "b", "t", ["x", "y"], 5.0)
        assert cures is not None
        assert [each.machine for each in cures.cures] == ["x", "y"]


async def test_a_fault_of_each_solver_is_told_in_one_line():
    old = make_solver(refuses=grpc.StatusCode.UNIMPLEMENTED)
    broken = make_solver(refuses=grpc.StatusCode.INTERNAL, text="out  of\n order")
    async with serving(old, broken) as (first, second):
        with pytest.raises(NoAnswerError) as raised:
            await explain_task([first, second, NOBODY], "c", "t", 5.0)
        one, two, three = str(raised.value).split("; ", 2)
        assert one == f"{first}: is of an older release, which cannot answer this question"
        assert two == f"{second}: INTERNAL: out of order"
        assert three.startswith(f"{NOBODY}: UNAVAILABLE: ")
        assert "\n" not in three


async def test_clusters_are_those_of_all_solvers_that_answer():
    async with serving(make_solver("a"), make_solver("b")) as targets:
        assert await list_clusters([NOBODY, *targets], 5.0) == {"a", "b"}
        with pytest.raises(NoAnswerError, match=f"{NOBODY}: UNAVAILABLE: .*; {NOBODY}: UNAVAILABLE: "):
            await list_clusters([NOBODY, NOBODY], 5.0)
    unsure = make_solver(refuses=grpc.StatusCode.FAILED_PRECONDITION)
    async with serving(unsure, make_solver("b")) as targets:
        assert await list_clusters(targets, 5.0) == {"b"}
        assert await list_clusters(targets[:1], 5.0) == set()


async def test_a_state_is_that_of_the_solver_that_serves_the_cluster():
    async with serving(make_solver("a"), make_solver("b")) as targets:
        assert await read_state(targets, "b", 5.0) == {"clusters": ["b"], "machines": 7}
        with pytest.raises(
            NoAnswerError, match="no solver drives cluster c, or its solver does not know all of it"
        ):
            await read_state(targets, "c", 5.0)
