"""The stream to the solver, against a scripted one."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from random import Random

import grpc
import pytest
from prometheus_client import CollectorRegistry

from firmament.wire.events import events_from_proto
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.solver_stream.session import Session, SessionOptions
from poseidon.bridge.solver_stream.stream import parse_refusal
from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import StreamOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.solver_view import ASSUMED, BOUND, PENDING
from tests.support.time_limits import stretch
from tests.support.waiting import stays, until

QUICK = SessionOptions(batch_events=5, window=2, backoff_initial=0.01, backoff_cap=0.05, refused_seconds=0.05)
HASTY = StreamOptions().model_copy(update={"silence_timeout": 0.2})


class Peer:
    """Speaks for a bridge's state, and remembers rounds."""

    def __init__(self):
        self.state = BridgeState()
        self.rounds = []
        self.busy = False

    def has_plenty_to_do(self):
        return self.busy

    def note_refused(self, event, reason):
        self.state.event_stream.note_refused(event, reason)

    def __getattr__(self, name):
        return getattr(self.state, name)

    async def on_round(self, result):
        self.rounds.append(result)
        self.state.on_round(result)


@asynccontextmanager
async def session_with(port, peer, options=QUICK, registry=None, stream=None, more=(), recorder=None):
    session = Session(
        [f"127.0.0.1:{each}" for each in (port, *more)],
        peer,
        cluster="test",
        fencing=7,
        client="poseidon test",
        metrics=BridgeMetrics(registry or CollectorRegistry()),
        random=Random(1),
        clock=time.monotonic,
        options=options,
        stream=stream,
        recorder=recorder,
    )
    running = asyncio.create_task(session.run())
    try:
        yield session, running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def peer():
    peer = Peer()
    peer.nodes_changed([present(node(f"n{index}")) for index in range(10)])
    peer.pods_changed([present(pod(f"p{index}", cpu=f"{index + 1}")) for index in range(10)])
    return peer


async def test_hello_then_a_snapshot_in_bounded_batches(peer):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        await asyncio.sleep(0)
        assert not solver.hellos, "nothing is said before the snapshot is complete"
        session.start()
        await until(lambda: solver.synced)
        assert [(h.cluster, h.fencing, h.version_major) for h in solver.hellos] == [("test", 7, 1)]
        assert solver.batches == 6, "10 machines, 10 classes, 10 batches of tasks, 5 events each"
        assert set(solver.states().values()) == {(PENDING, "")}


async def test_unacknowledged_batches_are_bounded(peer):
    solver = ScriptedSolver()
    solver.hold_acks = True
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: solver.batches == QUICK.window)
        # Were the window not kept, the rest would follow within microseconds.
        await stays(lambda: solver.batches == QUICK.window and not solver.synced, 0.1)
        solver.release_acks()
        await until(lambda: solver.synced)


async def test_a_solver_that_acknowledges_nothing_is_left_and_tried_again(peer, caplog):
    solver = ScriptedSolver()
    solver.hold_acks = True
    registry = CollectorRegistry()
    async with (
        running_solver(solver) as port,
        session_with(port, peer, registry=registry, stream=HASTY) as (session, _),
    ):
        session.start()
        await until(lambda: solver.streams == 2)
        assert "event batch 1 not acknowledged within 0.2 s" in caplog.text
        assert registry.get_sample_value("poseidon_solver_silences_total") == 1
        solver.hold_acks = False
        await until(lambda: solver.synced)
        assert len(solver.states()) == 10
        streams = solver.streams
        # Nothing to acknowledge is no silence.
        await stays(lambda: (solver.streams, session.is_open) == (streams, True), 1.0)


async def test_a_solver_that_is_at_work_for_long_is_not_left(peer):
    solver = ScriptedSolver()
    solver.hold_acks = True
    registry = CollectorRegistry()
    # Where the machine keeps all of this from running for a while, the solver is silent for as long.
    stream = HASTY.model_copy(update={"silence_timeout": stretch(0.2)})
    async with (
        running_solver(solver) as port,
        session_with(port, peer, registry=registry, stream=stream) as (session, _),
    ):
        session.start()
        await until(lambda: solver.batches == QUICK.window)
        for _ in range(20):  # a second: on a quiet machine five times as long as it may be silent
            solver.repeat_acks()
            await asyncio.sleep(0.05)
        assert solver.streams == 1
        assert registry.get_sample_value("poseidon_solver_silences_total") == 0
        solver.release_acks()
        await until(lambda: solver.synced)


async def test_live_events_and_rounds(peer):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        peer.pods_changed([present(pod("late")), gone(pod("p1"))])
        session.wake()
        await until(lambda: "pod-late" in solver.states() and "pod-p1" not in solver.states())
        solver.round()
        await until(lambda: peer.rounds)
        assert len(peer.rounds[0].deltas) == 10
        assert all(state == ASSUMED for state, _ in solver.states().values())


async def test_messages_of_a_busy_peer_are_fewer(peer):
    solver = ScriptedSolver()
    options = replace(QUICK, linger=0.0, busy_linger=0.3)
    async with running_solver(solver) as port, session_with(port, peer, options) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        peer.busy = True
        started = time.monotonic()
        peer.pods_changed([present(pod("first"))])
        session.wake()
        await until(lambda: "pod-first" in solver.states())
        assert time.monotonic() - started >= 0.3


async def test_a_change_after_silence_is_sent_at_once(peer):
    solver = ScriptedSolver()
    options = replace(QUICK, linger=600.0, idle=0.0)
    async with running_solver(solver) as port, session_with(port, peer, options) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        peer.pods_changed([present(pod("first"))])
        session.wake()
        await until(lambda: "pod-first" in solver.states())
        peer.pods_changed([present(pod("second"))])
        session.wake()
        await until(lambda: "pod-second" in solver.states())


def _knows(solver: ScriptedSolver, uid: str) -> bool:
    return uid in solver.states()


async def test_changes_that_follow_a_few_others_are_sent_at_once(peer):
    solver = ScriptedSolver()
    options = replace(QUICK, linger=600.0, idle=600.0, few=3)
    async with running_solver(solver) as port, session_with(port, peer, options) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        for name in ("first", "second"):
            peer.pods_changed([present(pod(name))])
            session.wake()
            await until(partial(_knows, solver, f"pod-{name}"))


async def test_changes_that_follow_others_are_gathered(peer):
    solver = ScriptedSolver()
    options = replace(QUICK, linger=0.3, idle=600.0, few=1)
    async with running_solver(solver) as port, session_with(port, peer, options) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        started = time.monotonic()
        peer.pods_changed([present(pod("first"))])
        session.wake()
        await until(lambda: "pod-first" in solver.states())
        assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ABORTED]
)
async def test_a_lost_stream_is_replaced_with_a_full_snapshot(peer, code, caplog):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        solver.abort(code, "on purpose")
        peer.pods_changed([gone(pod("p2"))])
        await until(lambda: solver.streams == 2 and solver.synced)
        assert len(solver.states()) == 9
    assert "on purpose" in caplog.text


async def test_the_solver_may_start_late_and_restart(peer, caplog):
    async with running_solver(ScriptedSolver()) as port:
        pass
    async with session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: "no stream to the solver" in caplog.text)
        for _ in range(2):
            await comes_and_goes(port)
    told = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) < 12, "an outage is not a line per attempt"


async def comes_and_goes(port):
    solver = ScriptedSolver()
    async with running_solver(solver, port):
        await until(lambda: solver.synced)
        assert len(solver.states()) == 10


async def test_a_refused_hello_is_logged_and_tried_again(peer, caplog):
    solver = ScriptedSolver()
    solver.refuse = (grpc.StatusCode.FAILED_PRECONDITION, "fencing 7 is older than 8")
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: len(solver.hellos) >= 3)
        solver.refuse = None
        await until(lambda: solver.synced)
    refusals = [r for r in caplog.records if "refused" in r.message]
    assert [r.levelname for r in refusals if r.levelno > logging.DEBUG] == ["ERROR"]
    assert "fencing 7 is older than 8" in refusals[0].message


async def test_metrics_say_how_the_stream_stands(peer):
    solver, registry = ScriptedSolver(), CollectorRegistry()

    def read(name):
        return registry.get_sample_value(f"poseidon_solver_{name}")

    async with running_solver(solver) as port, session_with(port, peer, registry=registry) as (session, _):
        assert (read("connected"), read("streams_total")) == (0, 0)
        session.start()
        await until(lambda: solver.synced)
        assert (read("connected"), read("refused"), read("streams_total")) == (1, 0, 1)
        solver.refuse = (grpc.StatusCode.FAILED_PRECONDITION, "another drives the cluster")
        solver.abort()
        await until(lambda: read("refused"))
        assert (read("connected"), read("streams_total")) == (0, 1)
        assert read("stream_errors_total") >= 2
        solver.refuse = None
        await until(lambda: read("connected"))
        assert (read("refused"), read("streams_total")) == (0, 2)


async def test_the_same_complaint_is_one_line(peer, caplog):
    solver = ScriptedSolver()
    solver.refuse = (grpc.StatusCode.UNAVAILABLE, "starting")
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: len(solver.hellos) >= 4)
    told = [each for each in caplog.records if "starting" in each.message]
    assert [each.levelname for each in told if each.levelno > logging.DEBUG] == ["WARNING"]


async def test_a_stream_that_has_lasted_forgets_earlier_pauses(peer):
    solver = ScriptedSolver()
    lasting = replace(QUICK, backoff_initial=0.01, backoff_cap=1000.0, stable_seconds=0.0)
    async with running_solver(solver) as port, session_with(port, peer, lasting) as (session, _):
        session.start()
        while solver.streams < 15:  # pauses that double each time would take minutes
            before = solver.streams
            await until(lambda: solver.synced)
            solver.abort()
            await until(partial(has_more_streams, solver, before))


def has_more_streams(solver, before):
    return solver.streams > before


class Recorder:
    """Keeps which messages were sent and received."""

    def __init__(self):
        self.seen = []

    def begin(self, hello, welcome):
        assert hello.records_rounds
        self.seen.append(welcome.server)

    def note_sent(self, message):
        self.seen.append(message.WhichOneof("body"))

    def note_round(self, result):
        self.seen.append(f"round {result.round}")


async def test_a_recorder_is_told_what_is_said_on_both_sides(peer):
    solver, recorder = ScriptedSolver(), Recorder()
    async with running_solver(solver) as port, session_with(port, peer, recorder=recorder) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        solver.round("no room")
        await until(lambda: peer.rounds)
    assert recorder.seen == ["scripted", "snapshot_begin", *["events"] * 6, "snapshot_end", "round 1"]


async def test_drain_sends_what_is_left_and_ends_the_stream(peer):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, running):
        session.start()
        await until(lambda: solver.synced)
        peer.pods_changed([gone(pod("p3"))])
        session.drain()
        await asyncio.wait_for(running, stretch(5))
        await until(lambda: solver.ended_cleanly == 1)
        assert "pod-p3" not in solver.states()


@pytest.mark.usefixtures("may_set_aside")
async def test_an_event_that_the_solver_does_not_take_is_left_out_until_it_changes(peer, caplog):
    """Else each new stream would end for it as the one before, and nobody's pods be placed any more."""
    solver = ScriptedSolver()
    solver.takes = lambda event: (
        event.machine.unschedulable is False
        and not any(each.amount == 77 and not event.task_class.invalid for each in event.task_class.requests)
    )
    peer.nodes_changed([present(node("bad", unschedulable=True))])
    peer.pods_changed([present(pod("odd", cpu="77m")), present(pod("runs", cpu="77m", node="n1"))])
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start()
        await until(lambda: solver.synced)
        assert "bad" not in solver.view.machines
        assert solver.states()["pod-runs"] == (BOUND, "n1")
        classes = [pb.TaskClass.FromString(each) for each in solver.view.classes.values()]
        (instead,) = [each for each in classes if each.invalid]
        assert instead.invalid == "the solver does not take the pod: it: field: is odd"
        assert [each.amount for each in instead.requests if each.resource == "cpu"] == [77]
        assert len(solver.states()) == 12
        assert len([r for r in caplog.records if "object set aside" in r.message]) == 2
        peer.nodes_changed([present(node("bad"))])
        session.wake()
        await until(lambda: "bad" in solver.view.machines)


def test_the_solver_says_which_event_it_does_not_take():
    bad = pb.Event(machine=pb.Machine(name="m", allocatable=[pb.Quantity(resource="cpu", amount=-1)]))
    with pytest.raises(ValueError, match="negative") as refused:
        events_from_proto([pb.Event(machine_removed="x"), bad])
    code = grpc.StatusCode.INVALID_ARGUMENT
    found = parse_refusal(code, f"EventBatch 7: {refused.value}")
    assert found is not None
    assert found[:2] == (7, 1)
    assert found.reason.startswith("Machine m: allocatable[cpu]: -1 is negative")
    assert parse_refusal(grpc.StatusCode.ABORTED, f"EventBatch 7: {refused.value}") is None
    assert parse_refusal(code, "EventBatch: sequence: 3 follows 1; send 2") is None


async def test_the_next_solver_is_asked_at_once_when_a_stream_is_lost(peer):
    first, second = ScriptedSolver(), ScriptedSolver()
    slow = SessionOptions(backoff_initial=30.0, backoff_cap=30.0)
    async with (
        running_solver(first) as here,
        running_solver(second) as there,
        session_with(here, peer, slow, more=[there]) as (session, _),
    ):
        session.start()
        await until(lambda: first.synced or second.synced)
        assert not second.streams, "solvers are asked in the order in which they are named"
        first.abort(text="the server ends")
        await until(lambda: second.synced, within=5.0)
        second.abort(text="this one too")
        await until(lambda: not session.is_open)
        assert first.streams == 1, "none has kept its stream for long, so there is a pause"


async def test_a_solver_that_ends_its_half_of_the_stream_is_lost_unless_the_bridge_ends(peer, caplog):
    solver, registry = ScriptedSolver(), CollectorRegistry()

    def lost():
        return registry.get_sample_value("poseidon_solver_stream_errors_total")

    async with (
        running_solver(solver) as port,
        session_with(port, peer, registry=registry) as (session, running),
    ):
        session.start()
        await until(lambda: solver.synced)
        solver._send(None)
        await until(lambda: solver.streams == 2 and solver.synced)
        assert lost() == 1
        assert "OK: the solver ended the stream" in caplog.text
        peer.pods_changed([present(pod("last"))])
        session.drain()
        await asyncio.wait_for(running, stretch(10))
        assert "pod-last" in solver.states(), "what was left is sent"
        assert (lost(), solver.ended_cleanly) == (1, 1)


async def test_rounds_that_come_while_the_bridge_ends_are_left_out(peer):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, running):
        session.start()
        await until(lambda: solver.synced)
        solver.hold_acks = True
        session.drain()
        solver.round()
        await asyncio.wait_for(running, stretch(10))
        assert peer.rounds == []


async def test_a_session_that_is_ended_before_it_began_says_nothing(peer):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, running):
        session.drain()
        await asyncio.wait_for(running, stretch(10))
        assert solver.hellos == []


async def test_a_number_that_comes_with_leadership_replaces_the_first(peer):
    solver = ScriptedSolver()
    async with running_solver(solver) as port, session_with(port, peer) as (session, _):
        session.start(41)
        await until(lambda: solver.synced)
        assert [each.fencing for each in solver.hellos] == [41]
