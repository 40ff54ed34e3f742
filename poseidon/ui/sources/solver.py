"""Asks a running solver about rounds, their flows, and single pods."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import grpc

from poseidon.bridge.solver_stream.stream import open_channel
from poseidon.explanations import read_verdicts
from poseidon.live.solver import NoAnswerError, explain_task
from poseidon.ui import intervals
from poseidon.ui.sources.source import NotExplainedError
from protos.conventions.tls import TlsError
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    from poseidon.explanations import Verdict
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known, SolverState
    from protos.conventions.tls import TlsFiles

_PATIENCE = 10.0
_KEEPALIVE_SECONDS = 20.0
_MOST_BYTES = 1 << 29
_KEPT_SECONDS = 5.0
_MOST_KEPT = 4
_AT_ONCE = 2
_NOTHING_YET = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION)


class SolverPoll:
    """Reads rounds, flows and explanations from the first solver that answers and knows the cluster.

    Older versions of the solver report neither rounds nor flows.
    """

    def __init__(
        self,
        known: Known,
        targets: Sequence[str],
        cluster: str,
        tls: TlsFiles | None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._known, self._wall = known, wall
        self._targets, self._cluster, self._tls = tuple(targets), cluster, tls
        self._kept: OrderedDict[str, tuple[float, Mapping[str, Verdict]]] = OrderedDict()
        self._asking = asyncio.Semaphore(_AT_ONCE)
        self._stepping = asyncio.Lock()
        self._flow_of = 0
        self._flow_asked = -intervals.FLOW_INTEREST_SECONDS

    @property
    def is_asking(self) -> bool:
        """Whether a question to a solver has been sent and not been answered."""
        return self._stepping.locked()

    async def step(self, *, flows: bool) -> None:
        """Ask for newer rounds, and, if ``flows``, for the flow of the newest round."""
        async with self._stepping:
            answering = ""
            for target in self._targets:
                try:
                    knows = await self._ask(target, flows=flows)
                except (grpc.aio.AioRpcError, TlsError):
                    continue
                answering = target if knows else answering or target
                if knows:
                    break
            self._note_answering(answering)

    def _note_answering(self, answering: str) -> None:
        """Record which solver answers, "" for none. The bridge's metrics tell whether the solver refuses the bridge."""
        solver = self._known.solver
        state: SolverState = "unreachable"
        if answering:
            state = "refused" if solver.state == "refused" else "connected"
        target = answering or ", ".join(self._targets)
        if not solver.since or (solver.state, solver.target) != (state, target):
            solver.since = self._wall() if not solver.since or solver.state != state else solver.since
            solver.state, solver.target = state, target
            self._known.versions.mark("overview", "session")

    async def _ask(self, target: str, *, flows: bool) -> bool:
        """Ask a solver for rounds and flows; return whether it knows the cluster."""
        shown = self._tls.read() if self._tls is not None else None
        async with open_channel(target, _MOST_BYTES, _KEEPALIVE_SECONDS, shown) as channel:
            stub = pb_grpc.SchedulerStub(channel)
            try:
                await self._read_rounds(stub)
                self._known.about.capabilities.flow = True
                if flows:
                    await self._read_flow(stub)
            except grpc.aio.AioRpcError as error:
                if error.code() in _NOTHING_YET:
                    return False
                if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
                self._known.about.capabilities.flow = False
        return True

    async def _read_rounds(self, stub: Any) -> None:
        """Read newer rounds and the last known round.

        If the solver does not know the last known round, it was restarted.
        """
        known_rounds, last = self._known.rounds, self._known.rounds.latest
        request = pb.ListRoundsRequest(cluster=self._cluster, after=max(last - 1, 0))
        listed = (await stub.ListRounds(request, timeout=_PATIENCE)).rounds
        if last and not (
            listed and listed[0].round == last and listed[0].ended == known_rounds.get_end(last)
        ):
            known_rounds.clear()
            self._flow_of = 0
            listed = (
                await stub.ListRounds(pb.ListRoundsRequest(cluster=self._cluster), timeout=_PATIENCE)
            ).rounds
        if known_rounds.add(listed):
            # The mark makes pages that show a flow ask again, and get the newer flow.
            self._known.versions.mark("overview", "flow")

    @property
    def flow_is_old(self) -> bool:
        """Whether the solver may have a newer flow, and has not been asked for it recently."""
        since = time.monotonic() - self._flow_asked
        return (
            self._known.rounds.latest > self._flow_of and since >= intervals.FLOW_SECONDS
        ) or since >= intervals.FLOW_INTEREST_SECONDS

    async def _read_flow(self, stub: Any) -> None:
        """Read the flow of a newer round if the solver may have one.

        The flow is also read regularly, because the solver keeps flows only while somebody asks for them.
        """
        known_rounds = self._known.rounds
        if not self.flow_is_old:
            return
        latest, self._flow_asked = known_rounds.latest, time.monotonic()
        request = pb.DescribeFlowRequest(
            cluster=self._cluster, after=known_rounds.latest_flow, with_tasks=True
        )
        flow = await stub.DescribeFlow(request, timeout=_PATIENCE)
        # The number is set only now, so that requests in the meantime wait for the answer.
        self._flow_of = latest
        if flow.round:
            known_rounds.put_flow(flow)
            self._known.versions.mark("flow", "overview")

    async def verdicts(self, pod: PodEntry) -> Mapping[str, Verdict]:
        """Return the verdict of each node on a pod; the solver is asked at most every 5 s.

        Raises ``NotExplainedError`` if the source has no verdicts on the pod.
        """
        async with self._asking:
            at, found = self._kept.get(pod.uid, (-_KEPT_SECONDS, {}))
            if time.monotonic() - at < _KEPT_SECONDS:
                return found
            try:
                said = await explain_task(self._targets, self._cluster, pod.uid, _PATIENCE, self._tls)
            except (NoAnswerError, TlsError) as error:
                raise NotExplainedError(f"no solver answers: {error}") from None
            if said is None:
                raise NotExplainedError(
                    f"the solver does not know it: it is for scheduler {pod.scheduler}, and may have to wait for its "
                    "group or its volumes, or be new"
                )
            found = await asyncio.to_thread(read_verdicts, said)
            self._kept[pod.uid] = time.monotonic(), found
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return found
