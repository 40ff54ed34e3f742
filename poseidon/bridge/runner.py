"""Runs a bridge: connects watches, state, session and writers, and finishes the work under way when it stops."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, replace

from prometheus_client import CollectorRegistry

from poseidon.app_network.controller import NetworkController
from poseidon.bridge.binding_traces import BindingTraces
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.queues.queue_metrics import QueueCollector
from poseidon.bridge.readiness import Readiness
from poseidon.bridge.round_history import RoundHistory
from poseidon.bridge.solver_stream.session import Session
from poseidon.bridge.solver_stream.session_interface import DistrustedError
from poseidon.bridge.solver_stream.stream import NeedsChangedError
from poseidon.bridge.standby_actions import HeldActions
from poseidon.bridge.state import BridgeState
from poseidon.bridge.waiting_pod_metrics import QueueDepths
from poseidon.bridge.watching import Watching
from poseidon.bridge.writers import Writers
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.event_writer import EventWriter
from poseidon.leadership.election import Role
from poseidon.leadership.elector import Leadership, OnlyBridge
from poseidon.lifecycle.phases import Stories
from poseidon.lifecycle.placements import kind_of, parts_of
from poseidon.lifecycle.refused_deltas import ROUNDS, SECONDS, Distrust
from poseidon.pods.visibility import visible_to
from poseidon.recording.recorder import StreamRecorder
from protos.firmament.v1 import scheduler_pb2 as pb

_log = logging.getLogger(__name__)

_PLENTY = 500
"""Number of bindings under way that keeps even the fastest API server busy until the next message from the solver."""


class RewoundError(Exception):
    """The API server has returned to an older state, so the bridge's copy of the cluster may be wrong."""


@dataclass(frozen=True, slots=True)
class BridgeProcess:
    """The objects that all bridges of a process share.

    ``stories`` keep the steps of each pod; ``rounds`` keep the results of rounds; ``traces`` create spans of
    bindings; ``recorder`` keeps the messages to and from the solver. ``leadership`` says whether this process may
    write; None if no other bridge stands by.
    """

    environment: Environment
    stories: Stories | None = None
    rounds: RoundHistory | None = None
    traces: BindingTraces | None = None
    leadership: Leadership | None = None
    recorder: StreamRecorder | None = None


class Bridge:
    """One cluster's bridge to a solver, with metrics in ``registry``.

    Until this process leads, the bridge only follows the cluster: it neither talks to a solver nor writes.
    """

    def __init__(self, process: BridgeProcess, options: BridgeOptions, registry: CollectorRegistry) -> None:
        clock, wall = process.environment.clock, process.environment.wall
        self._leadership = process.leadership or OnlyBridge(options.fencing)
        self._held = HeldActions(clock)
        self._leads = False
        self._distrust = Distrust(clock)
        self._metrics = metrics = BridgeMetrics(registry)
        quarantine = Quarantine(lambda kind: metrics.set_aside.labels(kind).inc())
        self._environment = environment = replace(
            process.environment,
            metrics=KubeMetrics(registry),
            quarantine=quarantine,
            watch=options.configuration.watch,
            reflector=options.reflector,
        )
        self._options = options
        self._started = clock()
        self._rewinds = environment.rewinds.count
        self._draining = False
        self._synced = False
        self._rounds, self._traces = process.rounds, process.traces
        self.state = BridgeState(
            _patient(options),
            options.needs,
            clock=clock,
            wall=wall,
            quarantine=quarantine,
            stories=process.stories,
        )
        self.snapshot, self.take_events = (
            self.state.event_stream.snapshot,
            self.state.event_stream.take_events,
        )
        self.note_refused, self.take_reports = self.state.event_stream.note_refused, self.state.take_reports
        self._metrics.nodes.set_function(lambda: len(self.state.machines))
        self._metrics.leader.set_function(self._leadership.may_write)
        self._metrics.pending_pods.set_function(self.state.pending_count)
        registry.register(QueueDepths(self.state.records))
        if self.state.queue_news is not None:
            figures = self.state.queue_news.figures
            registry.register(QueueCollector(lambda: figures.latest))
        self._writers = Writers(
            environment,
            options,
            self.state,
            lambda path: self._watching.find_served(path),  # noqa: PLW0108 - it comes below
            self._on_changed,
            self._metrics,
            process.traces,
        )
        self._session = self._new_session(process.recorder)
        self._network = self._new_network_controller()
        self._watching = Watching(
            environment,
            options,
            self.state,
            self._on_changed,
            registry=registry,
            network=self._network,
        )

    def _new_session(self, recorder: StreamRecorder | None) -> Session:
        """Create the session with the solver. The session connects once this process leads."""
        options, environment = self._options, self._environment
        return Session(
            options.firmament,
            self,
            cluster=options.cluster,
            fencing=options.fencing,
            client=options.client,
            metrics=self._metrics,
            random=environment.random,
            clock=environment.clock,
            options=options.session,
            stream=options.configuration.stream,
            ephemeral=options.dry_run,
            needs=options.needs,
            recorder=recorder,
        )

    def _new_network_controller(self) -> NetworkController | None:
        """Create the controller of applications and networks, None if no model uses them."""
        options, applications = self._options, self.state.applications
        if applications is None:
            return None
        events: EventWriter | None = None
        records = visible_to(options.needs).records
        if options.configuration.network.writes(records) and not options.dry_run:
            events = EventWriter(
                self._environment,
                self._writers.binder.wait_quiet,
                component=options.component,
                instance=options.instance,
                kind="object event",
            )
        return NetworkController(
            self._environment, applications, events, self._on_changed, may_begin=self._leadership.wait_elected
        )

    @property
    def readiness(self) -> Readiness:
        """What this bridge has reached so far. Any thread may read this."""
        return Readiness(self._synced, self._leads, self._session.is_open)

    # --- methods that the session calls ------------------------------------------------------------------

    def has_plenty_to_do(self) -> bool:
        """Return whether so many bindings are under way that the next round may wait."""
        return self._writers.binder.unfinished > _PLENTY

    async def on_round(self, result: pb.RoundResult) -> None:
        """Carry out the result of a round part by part, so that the first bindings leave before all are handled."""
        self._note_round(result)
        refusals = self.state.refusals
        suspicious = refusals.suspicious
        for part in parts_of(result):
            if self._draining:
                return
            with self.state.quarantine.attempt("rounds", "", name=f"round {result.round}"):
                self.state.on_round(part)
            self._on_changed()
            await asyncio.sleep(0)
        if refusals.suspicious > suspicious and self._distrust.suspect():
            self._distrust.forget()
            raise DistrustedError(
                f"asked for what no honest solver asks for in {ROUNDS} rounds within {SECONDS:g} s"
            )

    def _note_round(self, result: pb.RoundResult) -> None:
        stats = result.stats
        if self._rounds is not None:
            self._rounds.add(result)
        if self._traces is not None:
            self._traces.round_arrived(result)
        self._metrics.rounds.inc()
        kinds = Counter([delta.kind for delta in result.deltas])
        for kind, count in kinds.items():
            self._metrics.deltas.labels(kind_of(kind)).inc(count)
        if not _log.isEnabledFor(logging.INFO):
            return
        _log.info(
            "round round=%d placed=%d evicted=%d pending=%d machines=%d classes=%d certified=%s gap=%.6f seconds=%.3f",
            result.round,
            kinds[pb.Delta.PLACE],
            kinds[pb.Delta.PREEMPT],
            stats.pending,
            stats.machines,
            stats.classes,
            str(stats.certified).lower(),
            stats.gap,
            stats.snapshot_seconds + stats.network_seconds + stats.solve_seconds + stats.admit_seconds,
        )

    # --- running -------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Connect the cluster and the solver until ``stop`` is set, then finish the work under way.

        Raises the error of any part that fails.

        If the solver needs other data, the function finishes the work under way and raises ``NeedsChangedError``. If
        the API server has returned to an older state, raises ``RewoundError`` at once.
        """
        session = asyncio.create_task(self._session.run(), name="session")
        parts = [
            session,
            *(asyncio.create_task(run, name=name) for name, run in self._watching.parts()),
            *(asyncio.create_task(run, name=name) for name, run in self._writers.parts()),
            asyncio.create_task(self._expire(), name="expiry"),
            asyncio.create_task(self._stand_by(), name="standby"),
            asyncio.create_task(self._wait_for_rewind(), name="rewinds"),
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({*parts, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set() or _needs_changed(session):
                await self._drain(session, leaves=stop.is_set())
        finally:
            stopping.cancel()
            for part in parts:
                part.cancel()
            endings = await asyncio.gather(*parts, return_exceptions=True)
        broken = [ending for ending in endings if isinstance(ending, Exception)]
        if broken:
            raise next((each for each in broken if isinstance(each, RewoundError)), broken[0])

    async def _wait_for_rewind(self) -> None:
        """End this bridge if the API server goes back to an older state: bound pods may be pending again."""
        await self._environment.rewinds.wait_beyond(self._rewinds)
        raise RewoundError

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            with self.state.quarantine.attempt("what is due", ""):
                self.state.expire()
                if self._leads:
                    self.state.pending_reasons.note_solver(solver_answers=self._session.is_open)
            self._on_changed()

    async def _stand_by(self) -> None:
        """Wait until this process leads, then carry out the actions for which its state asks."""
        await self._leadership.wait_elected()
        self._on_changed()
        await asyncio.Event().wait()

    async def _drain(self, session: asyncio.Task[None], *, leaves: bool) -> None:
        """Finish and report bindings in flight, and carry out waiting writes, each within its time limit.

        If the bridge ``leaves``, it gives up leadership only after its writes: without the Lease it may write
        nothing, not even an event.
        """
        self._draining = True
        # Bindings that have not been posted are dropped: the next leader begins with a new round.
        left = self._writers.binder.discard_waiting()
        _log.info("stopping bindings=%d left=%d", self._writers.binder.unfinished, left)
        await _wait_at_most(self._options.drain_bindings_seconds, self._writers.binder.wait_idle())
        self._session.drain()
        if self._session.is_open:
            await _wait_at_most(self._options.drain_reports_seconds, asyncio.wait({session}))
        writes = asyncio.gather(
            self._writers.wait_drained(),
            *([self._network.wait_drained()] if self._network is not None else []),
        )
        await _wait_at_most(self._options.drain_writes_seconds, writes)
        if leaves:
            await self._leadership.release()
        _log.info("stopped")

    def _on_changed(self) -> None:
        """Carry out the actions, and send the events, that follow from a change of the state."""
        if not self._synced and self._watching.has_settled:
            self._synced = True
            _log.info(
                "cluster is known nodes=%d pods=%d pending=%d seconds=%.1f",
                len(self.state.machines),
                len(self.state.tasks),
                self.state.pending_count(),
                self._environment.clock() - self._started,
            )
        if self._synced and not self._leads and self._leadership.role is Role.LEADER:
            self._leads = True
            with self.state.quarantine.attempt("groups at the start", ""):
                self.state.begin()
            self._writers.dispatch(self._held.take_actions(self.state.is_pending))
            self._session.start(self._leadership.fencing)
        if self.state.gangs.wanted_kinds:
            self._watching.follow_owners(self.state.gangs.wanted_kinds)
        if self._leads:
            self._writers.dispatch(self.state.take_actions())
        else:
            self._held.add(self.state.take_actions())
        if self.state.refusals.counts:
            for (kind, reason), count in self.state.refusals.take_counts().items():
                self._metrics.deltas_refused.labels(kind.value, reason.value).inc(count)
        if self.state.kept_places is not None or self.state.restart_rooms.outcomes:
            self._count_kept_room()
        if self._network is not None:
            self._network.wake()
        if self._leads and self.state.has_news:
            self._session.wake()

    def _count_kept_room(self) -> None:
        """Count the outcomes of nodes and capacity that were kept for the replacements of pods."""
        if self.state.kept_places is not None:
            for outcome, times in self.state.kept_places.take_outcomes().items():
                self._metrics.kept_places.labels(outcome).inc(times)
        for outcome, times in self.state.restart_rooms.take_outcomes().items():
            self._metrics.restart_rooms.labels(outcome).inc(times)


def _needs_changed(session: asyncio.Task[None]) -> bool:
    return session.done() and not session.cancelled() and isinstance(session.exception(), NeedsChangedError)


def _patient(options: BridgeOptions) -> BridgeConfiguration:
    """Return the configuration; in a dry run, without time limits for bindings, because no write ends them."""
    if not options.dry_run:
        return options.configuration
    volumes = options.configuration.volumes.model_copy(update={"bind_timeout": math.inf})
    devices = options.configuration.devices.model_copy(update={"bind_timeout": math.inf})
    return options.configuration.model_copy(update={"volumes": volumes, "devices": devices})


async def _wait_at_most(seconds: float, work: Awaitable[object]) -> None:
    """Wait for the end of ``work``, but no longer than ``seconds``."""
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        _log.warning("stopping without waiting any longer seconds=%.1f", seconds)
