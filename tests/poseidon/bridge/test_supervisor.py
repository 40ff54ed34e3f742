"""When a bridge is replaced by another: what a standby asks for, and what happens when the API server goes back."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import grpc

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import BridgeProcess
from poseidon.bridge.supervisor import Supervisor
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.leadership.election import Role
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_bridge import QUICK, api, cluster
from tests.poseidon.bridge.test_needs import TIER
from tests.poseidon.bridge.test_runner import Lease
from tests.support.time_limits import stretch
from tests.support.waiting import stays, until

__all__ = ["api", "cluster"]  # fixtures

OBSERVER = "default.needs"


class AtOnce(Random):
    """No pause is longer than nothing."""

    def random(self) -> float:
        return 0.0


@asynccontextmanager
async def supervised(cluster: Any, port: int, lease: Lease | None, *, ask_seconds: float = 10.0, **more: Any):
    async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
        environment = Environment(transport, random=AtOnce(1))
        process = BridgeProcess(environment, leadership=lease)  # type: ignore[arg-type]
        lives = Supervisor(
            process,
            BridgeOptions((f"127.0.0.1:{port}",), session=QUICK),
            OBSERVER,
            ask_seconds=stretch(ask_seconds),
            standby_seconds=0.01,
        )
        stop = asyncio.Event()
        running = asyncio.create_task(lives.run(stop))
        try:
            yield lives, environment
        finally:
            stop.set()
            await asyncio.wait_for(running, stretch(20))


def observed(solver: ScriptedSolver) -> int:
    """How often the solver was asked for its needs."""
    return sum(each.cluster == OBSERVER for each in solver.hellos)


def asked() -> ScriptedSolver:
    solver = ScriptedSolver()
    solver.observers = OBSERVER
    return solver


async def test_a_standby_begins_anew_when_the_solver_needs_other_data(cluster, api):
    solver, lease = asked(), Lease(Role.STANDBY)
    async with running_solver(solver) as port, supervised(cluster, port, lease) as (lives, _):
        await until(lambda: lives.explain_unready() == "")
        first, questions = lives.registry, observed(solver)
        await until(lambda: observed(solver) >= questions + 2)
        assert lives.registry is first, "it needs what it needed"
        solver.needs = TIER
        await until(lambda: lives.registry is not first)
        second = lives.registry
        await until(lambda: lives.explain_unready() == "")
        questions = observed(solver)
        await until(lambda: observed(solver) >= questions + 2)
        assert lives.registry is second
    assert lease.released, "it ends as a whole only when it is told to"
    assert solver.streams == 0, "a standby has no stream"


async def test_a_standby_stays_as_it_is_while_no_solver_answers(cluster, api):
    solver, lease = asked(), Lease(Role.STANDBY)
    async with (
        running_solver(solver) as port,
        supervised(cluster, port, lease, ask_seconds=0.05) as (lives, _),
    ):
        await until(lambda: lives.explain_unready() == "")
        first = lives.registry
        solver.refuse = (grpc.StatusCode.FAILED_PRECONDITION, "another one")
        questions = observed(solver)
        await until(lambda: observed(solver) >= questions + 2)
        assert lives.registry is first


async def test_a_leader_asks_no_more(cluster, api):
    solver, lease = asked(), Lease(Role.LEADER)
    async with running_solver(solver) as port, supervised(cluster, port, lease):
        await until(lambda: solver.synced)
        await stays(lambda: observed(solver) == 1, 0.1)


async def test_another_bridge_reads_the_cluster_when_the_api_server_is_older_than_before(cluster, api):
    solver, lease = asked(), Lease(Role.LEADER)
    async with running_solver(solver) as port, supervised(cluster, port, lease) as (lives, environment):
        await until(lambda: solver.synced)
        first, fencing = lives.registry, solver.hellos[-1].fencing
        environment.rewinds.note()
        await until(lambda: solver.streams == 2 and solver.synced)
        assert lives.registry is not first
        assert lease.released == []
        assert fencing == 77


async def test_a_bridge_that_runs_alone_gets_a_higher_number_after_it_has_begun_anew(cluster, api):
    solver = asked()
    async with running_solver(solver) as port, supervised(cluster, port, None) as (_, environment):
        await until(lambda: solver.synced)
        first = solver.hellos[-1].fencing
        environment.rewinds.note()
        await until(lambda: solver.streams == 2 and solver.synced)
        assert solver.hellos[-1].fencing > first


async def test_a_process_that_is_to_end_waits_for_no_answer(cluster, api):
    begun = time.monotonic()
    async with supervised(cluster, 9, None, ask_seconds=600.0) as (lives, _):
        await until(lambda: lives.explain_unready() == "asking the solver what it needs")
    assert time.monotonic() - begun < stretch(10)
