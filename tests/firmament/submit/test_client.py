"""The simulated driver against a small server: what it sends, in which order, and when it is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import grpc
import pytest

from firmament.submit.client import SubmitClient, SubmitOptions, TargetError, _describe
from firmament.submit.workload import WorkloadOptions, generate
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc

SMALL = WorkloadOptions(nodes=2, tasks=6, classes=1, cpu=(6400, 6400), memory=(1, 1), sizes=(3, 3))
"""Room for two tasks on each machine: two of the six fit nowhere, unless others end."""


class Server(scheduler_pb2_grpc.SchedulerServicer):
    """Places each batch of tasks on machines in turn, as long as these have a slot."""

    def __init__(self, slots: int = 2, ends: tuple[grpc.StatusCode, str] | None = None) -> None:
        self.free = {"machine-0": slots, "machine-1": slots}
        self.seen: list[str] = []
        self.hello: pb.Hello | None = None
        self.reports: list[tuple[str, str, bool]] = []
        self.waiting: list[str] = []
        self.where: dict[str, str] = {}
        self.rounds = 0
        self._ends = ends
        self._changed = asyncio.Event()

    async def Session(self, request_iterator: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for message in request_iterator:
            body = message.WhichOneof("body")
            self.seen.append(body)
            if body == "hello":
                self.hello = message.hello
                yield pb.ServerMessage(welcome=pb.Welcome(version_major=1))
            elif body == "events" and self._ends and "snapshot_end" in self.seen:
                await context.abort(*self._ends)
            elif body == "reports":
                self.reports += [(each.task, each.machine, each.bound) for each in message.reports.reports]
            elif body == "events":
                for event in message.events.events:
                    self.waiting += event.tasks.uids
                    if event.task_removed:
                        self.free[self.where.pop(event.task_removed)] += 1
                yield pb.ServerMessage(ack=pb.Ack(sequence=message.events.sequence))
                if "snapshot_end" in self.seen:
                    yield pb.ServerMessage(round=self.decide())

    async def Schedule(self, request: Any, context: Any) -> Any:  # noqa: N802
        assert request.cluster == "c"
        return pb.RoundResult(round=self.rounds)

    def decide(self) -> pb.RoundResult:
        self.rounds += 1
        deltas = []
        for uid in list(self.waiting):
            machine = next((name for name, left in self.free.items() if left), None)
            if machine is None:
                break
            self.waiting.remove(uid)
            self.free[machine] -= 1
            self.where[uid] = machine
            deltas.append(pb.Delta(kind=pb.Delta.PLACE, task=uid, machine=machine))
        told = [pb.UnscheduledTasks(tasks=self.waiting, message="0/2 nodes are available: full. More.")]
        stats = pb.RoundStats(tasks=len(deltas) + len(self.waiting))
        return pb.RoundResult(round=self.rounds, deltas=deltas, unscheduled=told, stats=stats)


def run(
    made: Callable[[], Server], workload: WorkloadOptions = SMALL, **options: Any
) -> tuple[bool, SubmitClient, Server]:
    async def both() -> tuple[bool, SubmitClient, Server]:
        served, server = made(), grpc.aio.server()
        scheduler_pb2_grpc.add_SchedulerServicer_to_server(served, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        given = {"samples": False, "timeout": 20.0, **options}
        client = SubmitClient(generate(workload), SubmitOptions(f"127.0.0.1:{port}", "c", **given))
        try:
            return await client.run(), client, served
        finally:
            await server.stop(None)

    return asyncio.run(both())


def test_a_workload_is_submitted_confirmed_and_settled():
    done, client, server = run(Server)
    assert done
    assert server.seen[:4] == ["hello", "snapshot_begin", "events", "snapshot_end"]
    assert server.hello is not None
    assert (server.hello.version_major, server.hello.version_minor, server.hello.cluster) == (1, 2, "c")
    assert server.hello.fencing > 0
    assert server.hello.client.startswith("firmament submit ")
    assert sorted(server.reports) == sorted((uid, machine, True) for uid, machine in server.where.items())
    log = client.ledger
    assert (log.submitted_count, log.placed_count, log.unscheduled_count, log.duplicates) == (6, 4, 2, 0)
    assert log.reasons() == {"0/2 nodes are available: full.": 2}
    assert log.rounds == 1
    assert not log.overcommitted.any()


def test_tasks_end_after_their_life_and_others_take_their_place():
    done, client, server = run(Server, replace(SMALL, task_seconds=0.01))
    assert done
    assert client.ledger.placed_count == 6
    assert client.ledger.ended.all()
    assert server.where == {}
    assert client.ledger.used.sum() == 0


def test_samples_are_sent_if_they_are_wanted():
    _, _, without = run(Server)
    done, _, server = run(Server, replace(SMALL, task_seconds=0.2), samples=True)
    assert done
    assert server.seen.count("events") > without.seen.count("events") + 3


def test_a_run_may_take_too_long():
    done, client, _ = run(Server, replace(SMALL, rate=0.5), timeout=0.3)
    assert not done
    assert client.ledger.submitted_count <= 1


@pytest.mark.parametrize("code", [grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAVAILABLE])
def test_the_reason_why_a_session_ended_is_told(code: grpc.StatusCode):
    # The second task comes long after the first, so no message is on its way when the server ends the session.
    calm = replace(SMALL, rate=0.01)
    with pytest.raises(TargetError) as ended:
        run(lambda: Server(ends=(code, "no more")), calm)  # type: ignore[abstract]  # of the calls that are made here
    assert str(ended.value).startswith("127.0.0.1:")
    assert code.name in str(ended.value)
    assert "no more" in str(ended.value)


def test_an_end_of_which_grpc_has_lost_the_reason_names_the_solvers_log():
    none = grpc.aio.Metadata()
    lost = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, none, none, "Internal error from Core", "")
    other = grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, none, none, "a  broken\nround", "")
    assert _describe(lost) == (
        "the solver ended the session while a message was being sent; the solver's log says why"
    )
    assert _describe(other) == "INTERNAL: a broken round"


def test_nobody_answers():
    client = SubmitClient(generate(SMALL), SubmitOptions("127.0.0.1:1", connect_seconds=0.1))
    with pytest.raises(
        TargetError, match=r"^127\.0\.0\.1:1: no solver answers there; start one with `firmament serve`"
    ):
        asyncio.run(client.run())


def test_options_that_are_not_given():
    options = SubmitOptions("t")
    assert (options.cluster, options.samples, options.connect_seconds) == ("simulated", True, 5.0)
    assert (options.timeout, options.seed, options.tls) == (300.0, 0, None)
