"""Measures the solver process over gRPC on loopback: from the first task sent to the last delta received."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.messages import batches
from benchmarks.scenario import Scenario, machine_events, task_events
from firmament.core.events import Event
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc

MESSAGE_BYTES = 64 * 2**20
CLUSTER = "benchmark"


@dataclass(slots=True)
class GrpcRun:
    """One run: ``seconds`` from the first task sent to the last delta, ``ingest_seconds`` for the cluster before
    that.
    """

    seconds: float = 0.0
    ingest_seconds: float = 0.0
    ingest_objects: int = 0
    placed: int = 0
    rounds: int = 0
    slowest_health_check: float = 0.0


@contextmanager
def solver_process(config: Path | None = None, more: Sequence[str] = ()) -> Iterator[str]:
    """Run ``firmament serve`` on a free port, with ``more`` options; yields its address."""
    command = [sys.executable, "-m", "firmament", "serve", "--listen", "127.0.0.1:0", "--log-level", "error"]
    if config is not None:
        command += ["--config", str(config)]
    command += more
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def run_grpc(scenario: Scenario, target: str, number: int, machines: list[Event] | None = None) -> GrpcRun:
    """Send a scenario to the solver at ``target``, confirm bindings, and time its tasks.

    Each run, by its ``number`` from 1, is the next driver of one cluster: its snapshot replaces the state of the run
    before, and reuses its memory, as in runs of the core alone.
    """
    outgoing: queue.SimpleQueue[pb.ClientMessage | None] = queue.SimpleQueue()
    run = GrpcRun()
    events = machine_events(scenario) if machines is None else machines
    options = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
    ]
    with grpc.insecure_channel(target, options=options) as channel:
        replies = scheduler_pb2_grpc.SchedulerStub(channel).Session(iter(outgoing.get, None))
        outgoing.put(
            pb.ClientMessage(
                hello=pb.Hello(version_major=1, version_minor=2, cluster=CLUSTER, fencing=number)
            )
        )
        outgoing.put(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
        begin = time.perf_counter()
        sequence = _send(outgoing, list(batches(events, 1)), 1)
        outgoing.put(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))
        outgoing.put(pb.ClientMessage(events=pb.EventBatch(sequence=sequence)))
        _await_ack(replies, sequence)  # acknowledges a batch after the snapshot, so the snapshot is complete
        sequence += 1
        run.ingest_seconds = time.perf_counter() - begin
        run.ingest_objects = sum(len(getattr(event, "uids", "x")) for event in events)

        tasks = list(batches(task_events(scenario), sequence))
        with _health_checks(channel) as slowest:
            begin = time.perf_counter()
            _send(outgoing, tasks, sequence)
            for message in replies:
                if message.WhichOneof("body") != "round":
                    continue
                run.rounds += 1
                run.placed += len(message.round.deltas)
                run.seconds = time.perf_counter() - begin
                if run.placed >= scenario.tasks or not message.round.deltas:
                    break
                outgoing.put(_confirmation(message.round))
        run.slowest_health_check = max(slowest, default=0.0)
        outgoing.put(None)
    return run


def _send(
    outgoing: queue.SimpleQueue[pb.ClientMessage | None], messages: list[pb.ClientMessage], sequence: int
) -> int:
    """Queue messages; return the next free sequence number."""
    for message in messages:
        outgoing.put(message)
    return sequence + len(messages)


def _confirmation(result: pb.RoundResult) -> pb.ClientMessage:
    """Return a report that all placements of a round are bound."""
    reports = [
        pb.BindingReport(task=delta.task, machine=delta.machine, bound=True) for delta in result.deltas
    ]
    return pb.ClientMessage(reports=pb.BindingReports(reports=reports))


def _await_ack(replies: Iterable[pb.ServerMessage], sequence: int) -> None:
    """Read until every batch up to ``sequence`` has been acknowledged."""
    for message in replies:
        if message.WhichOneof("body") == "ack" and message.ack.sequence >= sequence:
            return


@contextmanager
def _health_checks(channel: grpc.Channel) -> Iterator[list[float]]:
    """Ask for the solver's health ten times a second until the context ends; yields the list of response times."""
    taken: list[float] = []
    done = threading.Event()
    stub = health_pb2_grpc.HealthStub(channel)

    def ask() -> None:
        while not done.wait(0.1):
            begin = time.perf_counter()
            stub.Check(health_pb2.HealthCheckRequest())
            taken.append(time.perf_counter() - begin)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield taken
    finally:
        done.set()
        thread.join()
