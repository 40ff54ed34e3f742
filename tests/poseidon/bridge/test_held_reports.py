"""Reports of bindings that go with events, and rounds that acknowledge batches."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from tests.poseidon.bridge.objects import node, pod, present
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_session import QUICK, Peer, session_with
from tests.support.waiting import stays, until

HELD = replace(QUICK, batch_events=100, report_seconds=600.0)


@asynccontextmanager
async def placed(pods: int, options=HELD, *, takes_reports: bool = True):
    """Yield a solver, a peer and their session once so many pods have been placed."""
    solver, peer = ScriptedSolver(), Peer()
    solver.takes_reports = takes_reports
    peer.nodes_changed([present(node("n0"))])
    peer.pods_changed([present(pod(f"p{index}")) for index in range(pods)])
    async with running_solver(solver) as port, session_with(port, peer, options) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        solver.round()
        await until(lambda: len(peer.rounds) == 1)
        solver.messages.clear()
        yield solver, peer, session


def end_binding(peer: Peer, session, name: str, result: BindResult = BindResult.BOUND) -> None:
    record = peer.state.tasks.find_by_name(f"default/{name}")
    assert record is not None
    request = BindRequest(record.task.uid, "default", name, "n0")
    peer.state.binding_ended(BindOutcome(request, result, "" if result is BindResult.BOUND else "no"))
    session.wake()


async def test_a_report_goes_with_the_next_events():
    async with placed(1) as (solver, peer, session):
        end_binding(peer, session, "p0")
        await stays(lambda: not solver.messages, 0.05)
        peer.pods_changed([present(pod("p1"))])
        session.wake()
        await until(lambda: len(solver.reports) == 1)
        assert solver.messages == ["events"]
        assert solver.reports[0].bound
        assert len(solver.states()) == 2


async def test_a_report_leaves_by_itself_if_nothing_else_does():
    async with placed(1, replace(HELD, report_seconds=0.01)) as (solver, peer, session):
        end_binding(peer, session, "p0")
        await until(lambda: len(solver.reports) == 1)
        assert solver.messages == ["reports"]


async def test_failures_leave_at_once_with_what_was_held():
    async with placed(2) as (solver, peer, session):
        end_binding(peer, session, "p0")
        await stays(lambda: not solver.messages, 0.05)
        end_binding(peer, session, "p1", BindResult.FAILED)
        await until(lambda: [each.bound for each in solver.reports] == [True, False])


async def test_more_than_a_few_reports_leave_at_once():
    async with placed(HELD.few + 1) as (solver, peer, session):
        for index in range(HELD.few + 1):
            end_binding(peer, session, f"p{index}")
        await until(lambda: len(solver.reports) == HELD.few + 1)


async def test_a_solver_that_does_not_take_reports_with_events_gets_them_at_once():
    async with placed(1, takes_reports=False) as (solver, peer, session):
        end_binding(peer, session, "p0")
        await until(lambda: len(solver.reports) == 1)
        assert solver.messages == ["reports"]


async def test_held_reports_leave_before_the_stream_ends():
    async with placed(1) as (solver, peer, session):
        end_binding(peer, session, "p0")
        await stays(lambda: not solver.messages, 0.05)
        session.drain()
        await until(lambda: solver.ended_cleanly == 1)
        assert len(solver.reports) == 1


async def test_a_round_acknowledges_batches():
    solver, peer = ScriptedSolver(), Peer()
    peer.nodes_changed([present(node("n0"))])
    options = replace(QUICK, batch_events=1)
    peer.pods_changed([present(pod(f"p{index}", cpu=f"{index + 1}")) for index in range(2)])
    solver.hold_acks = True
    async with running_solver(solver) as port, session_with(port, peer, options) as (session, _):
        session.start()
        await until(lambda: solver.batches == options.window)
        assert solver.hellos[0].reads_acknowledged
        await stays(lambda: solver.batches == options.window, 0.05)
        solver.acknowledge_by_round()
        await until(lambda: solver.batches > options.window)
        assert len(peer.rounds) == 1
