"""A solver that does what a test tells it, over real gRPC."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import grpc
from grpc import aio

from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.poseidon.bridge.solver_view import PENDING, SolverView

TAKEN = "the volume is in use"
"""What is said of a task of such a volume."""


class ScriptedSolver(pb_grpc.SchedulerServicer):
    """Keeps a view per stream, acknowledges, and sends rounds when told to.

    ``refuse`` is a (status, text) with which hellos are turned away while it is set; ``hold_acks`` keeps
    acknowledgements back. ``takes_reports``: with events. ``messages``: the kinds of those that have come. Events
    for which ``takes`` is false end the stream, as in the real one. ``places_taken``: it places tasks of volumes that
    are in use all the same. Drivers of clusters whose names begin with ``observers`` are greeted and no more.
    """

    def __init__(self):
        self.hellos = []
        self.view = SolverView()
        self.synced = False
        self.streams = 0
        self.minor = 2
        self.needs: frozenset[str] = frozenset()
        self.batches = 0
        self.reports = []
        self.refuse = None
        self.hold_acks = False
        self.takes_reports = False
        self.messages = []
        self.takes = lambda _: True
        self.ended_cleanly = 0
        self.place_all = False
        self.places_taken = False
        self.observers = ""
        self._outgoing: asyncio.Queue[object] = asyncio.Queue()

    async def Session(self, request_iterator, context):  # noqa: N802 - the name in the protocol
        hello = (await anext(request_iterator)).hello
        self.hellos.append(hello)
        if self.refuse is not None:
            await context.abort(*self.refuse)
        welcome = pb.ServerMessage(
            welcome=pb.Welcome(
                version_major=1,
                version_minor=self.minor,
                server="scripted",
                needs=sorted(self.needs),
                takes_reports=self.takes_reports,
            )
        )
        if self.observers and hello.cluster.startswith(self.observers):
            yield welcome
            return
        self.streams += 1
        self.synced = False
        self.view = SolverView()
        outgoing = self._outgoing = asyncio.Queue()
        outgoing.put_nowait(welcome)
        reader = asyncio.create_task(self._read(request_iterator, outgoing))
        try:
            while (message := await outgoing.get()) is not None:
                if isinstance(message, tuple):
                    await context.abort(*message)
                yield message
        finally:
            reader.cancel()

    async def Schedule(self, request, context):  # noqa: N802 - the name in the protocol
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "the bridge calls only Session")

    Explain = FindCures = ListState = ExportNetwork = ListRounds = DescribeFlow = DeleteCluster = Schedule

    async def _read(self, requests, outgoing):
        sequence = 0
        async for message in requests:
            kind = message.WhichOneof("body")
            self.messages.append(kind)
            if kind == "snapshot_end":
                self.synced = True
            elif kind == "events":
                sequence += 1
                assert message.events.sequence == sequence
                bad = next((i for i, each in enumerate(message.events.events) if not self.takes(each)), None)
                if bad is not None:
                    text = f"EventBatch {sequence}: event {bad}: it: field: is odd"
                    outgoing.put_nowait((grpc.StatusCode.INVALID_ARGUMENT, text))
                    return
                self.view.report(message.events.reports)
                self.reports.extend(message.events.reports)
                self.view.apply(message.events.events)
                self.batches += 1
                if not self.hold_acks:
                    self._send(pb.ServerMessage(ack=pb.Ack(sequence=sequence)), outgoing)
            elif kind == "reports":
                self.view.report(message.reports.reports)
                self.reports.extend(message.reports.reports)
            if self.place_all and self.synced:
                self.round()
        self.ended_cleanly += 1
        outgoing.put_nowait(None)

    def _send(self, message, outgoing=None):
        (outgoing or self._outgoing).put_nowait(message)

    def rules(self):
        """Volume rules of all classes."""
        found = (pb.TaskClass.FromString(encoded) for encoded in self.view.classes.values())
        return [rule for task_class in found for rule in task_class.volumes]

    def offers(self, machine):
        """Allocatable resources of a machine."""
        return {each.resource: each.amount for each in self.view.machines[machine].allocatable}

    def round(self, message="", *, only=""):
        """Place every pending task, over the machines in turn or on one; with ``message`` none of them.

        Tasks of volumes that are in use are told so: in vain are all placements of these.
        """
        result = pb.RoundResult(round=1)
        machines = [only] if only else sorted(self.view.machines)
        pending = sorted(uid for uid, task in self.view.tasks.items() if task.state == PENDING)
        taken = [uid for uid in pending if self.in_use(uid)]
        if message:
            result.unscheduled.add(tasks=pending, message=message)
        else:
            if taken and not self.places_taken:
                result.unscheduled.add(tasks=taken, message=TAKEN)
                pending = [uid for uid in pending if uid not in taken]
            for index, uid in enumerate(pending):
                machine = machines[index % len(machines)]
                self.view.place(uid, machine)
                result.deltas.add(kind=pb.Delta.PLACE, task=uid, machine=machine)
        if pending or taken:
            self._send(pb.ServerMessage(round=result))

    def acknowledge_by_round(self):
        """Send a round that decides nothing, and acknowledges all batches."""
        self._send(pb.ServerMessage(round=pb.RoundResult(round=1, acknowledged=self.batches)))

    def in_use(self, uid):
        """Whether another task has a volume of a task to itself, by the task's class."""
        found = pb.TaskClass.FromString(self.view.tasks[uid].task_class)
        return any(rule.in_use for rule in found.volumes)

    def repeat_acks(self):
        """Say again what has been said: at work on the next batch."""
        self._send(pb.ServerMessage(ack=pb.Ack(sequence=0)))

    def release_acks(self):
        self.hold_acks = False
        self._send(pb.ServerMessage(ack=pb.Ack(sequence=self.batches)))

    def abort(self, code=grpc.StatusCode.UNAVAILABLE, text="scripted"):
        self._send((code, text))

    def states(self):
        return {uid: (task.state, task.machine) for uid, task in self.view.tasks.items()}


@asynccontextmanager
async def running_solver(solver, port=0):
    """Serve ``solver``; yields the port."""
    server = aio.server()
    pb_grpc.add_SchedulerServicer_to_server(solver, server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)
