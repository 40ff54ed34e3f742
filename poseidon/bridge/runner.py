"""The bridge as a running process: wires reflectors, state, session, binder and writers, and drains them."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from poseidon.bridge.announcements import COUNTS_SECONDS
from poseidon.bridge.batch_runtime import BatchRuntime
from poseidon.bridge.dispatcher import Dispatcher, DryRunDispatcher, LiveDispatcher
from poseidon.bridge.feeds import (
    CLAIMS,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    VOLUMES,
    Feed,
    T,
)
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.pods import ANY_SCHEDULER
from poseidon.bridge.refused import RECREATIONS
from poseidon.bridge.session import Session, SessionOptions
from poseidon.bridge.state import BridgeState
from poseidon.controllers.network import NetworkController
from poseidon.controllers.object_events import ObjectEvents
from poseidon.kube.binder import Binder, BinderOptions, BindOutcome, BindResult
from poseidon.kube.claim_writer import ClaimWriter
from poseidon.kube.condition_writer import ConditionWriter
from poseidon.kube.event_writer import EventWriter
from poseidon.kube.following import ReflectorOptions
from poseidon.kube.metrics import KubeMetrics
from poseidon.kube.pod_recovery import PodRecovery, RecoveryOptions
from poseidon.kube.reflector import Reflector
from poseidon.kube.write_behind import WriteBehindOptions
from poseidon.network.options import NetworkOptions
from poseidon.sources.options import UtilisationOptions
from poseidon.sources.utilisation import Utilisation
from poseidon.volumes.state import BIND_SECONDS
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from poseidon.kube.claim_writer import ClaimWrite
    from poseidon.kube.evictor import EvictionOutcome
    from poseidon.kube.following import Change
    from poseidon.kube.listing import Resource
    from poseidon.kube.transport import Transport

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """What a bridge is to do.

    ``policy`` is the solver's base policy ("": unknown), ``overlays`` are its overlays; they say what pods are
    told apart by.
    ``cluster`` is the name under which the solver keeps this cluster's state, ``fencing`` a number larger
    than that of any earlier driver, ``instance`` the name of this process in events. Drain times, and how long
    binding the claims of a pod may take, are in seconds; ``counts_seconds`` is how long the counts in what is
    said of a pending pod may be out of date.
    """

    firmament: str
    scheduler_names: tuple[str, ...] = ("poseidon",)
    policy: str = ""
    overlays: tuple[str, ...] = ()
    cluster: str = "default"
    fencing: int = 1
    client: str = "poseidon"
    instance: str = "poseidon"
    dry_run: bool = False
    drain_bindings_seconds: float = 10.0
    drain_reports_seconds: float = 3.0
    drain_writes_seconds: float = 5.0
    volume_seconds: float = BIND_SECONDS
    counts_seconds: float = COUNTS_SECONDS
    recovery: RecoveryOptions = field(default_factory=RecoveryOptions)
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    optional_reflector: ReflectorOptions = field(default_factory=lambda: ReflectorOptions(optional=True))
    binder: BinderOptions = field(default_factory=BinderOptions)
    session: SessionOptions = field(default_factory=SessionOptions)
    writes: WriteBehindOptions = field(default_factory=WriteBehindOptions)
    utilisation: UtilisationOptions = field(default_factory=UtilisationOptions)
    network: NetworkOptions = field(default_factory=NetworkOptions)
    fair_share: bool = False


class Bridge:
    """One cluster's bridge to a solver. ``clock`` is monotonic, ``wall`` tells seconds since the epoch."""

    def __init__(
        self,
        transport: Transport,
        options: BridgeOptions,
        *,
        registry: CollectorRegistry,
        random: Random,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._transport = transport
        self._options = options
        self._random = random
        self._clock = clock
        self._wall = wall
        self._started = clock()
        self._draining = False
        self._synced = False
        self._metrics = BridgeMetrics(registry)
        self._kube_metrics = KubeMetrics(registry)
        self.state = BridgeState(
            options.scheduler_names,
            options.policy,
            options.overlays,
            clock=clock,
            wall=wall,
            # Bindings of a dry run stay under way for ever.
            volume_seconds=math.inf if options.dry_run else options.volume_seconds,
            counts_seconds=options.counts_seconds,
            recovery=options.recovery,
            network=options.network,
            fair_share=options.fair_share,
        )
        self._metrics.nodes.set_function(lambda: self.state.node_count)
        self._metrics.pending_pods.set_function(self.state.pending_count)
        component = next((name for name in options.scheduler_names if name != ANY_SCHEDULER), "poseidon")
        self._binder = Binder(
            transport,
            self._on_outcome,
            metrics=self._kube_metrics,
            random=random,
            clock=clock,
            refusal=lambda request: self.state.refusal(request.uid, request.node),
            options=options.binder,
        )
        self._events = EventWriter(
            transport,
            component=component,
            instance=options.instance,
            wait_quiet=self._binder.wait_idle,
            metrics=self._kube_metrics,
            random=random,
            wall=wall,
            options=options.writes,
        )
        self._conditions = ConditionWriter(
            transport,
            wait_quiet=self._binder.wait_idle,
            metrics=self._kube_metrics,
            random=random,
            wall=wall,
            options=options.writes,
        )
        self._recovery = PodRecovery(
            transport, annotation=RECREATIONS, metrics=self._kube_metrics, random=random
        )
        self._claim_writer = ClaimWriter(transport, self._on_claim_refused, random=random)
        self._batch = BatchRuntime(
            transport,
            self.state.gangs,
            lambda resource, take: self._follow(resource, take, options.optional_reflector),
            self._events,
            self._on_evicted,
            wait_quiet=self._binder.wait_idle,
            metrics=self._kube_metrics,
            random=random,
            clock=clock,
            wall=wall,
            writes=options.writes,
        )
        self._dispatcher: Dispatcher = (
            DryRunDispatcher()
            if options.dry_run
            else LiveDispatcher(
                self._binder,
                self._events,
                self._conditions,
                self._claim_writer,
                self._recovery,
                self._batch,
                self._metrics,
            )
        )
        self._session = self._new_session()
        self._nodes = self._follow(NODES, self.state.nodes_changed, options.reflector)
        self._priority_classes = self._follow(
            PRIORITY_CLASSES, self.state.priority_classes_changed, options.optional_reflector
        )
        self._namespaces = self._follow(NAMESPACES, self.state.namespaces_changed, options.optional_reflector)
        self._storage = self._follow_storage(options.optional_reflector)
        self._pods = self._follow(PODS, self.state.pods_changed, options.reflector)
        self._custom = [
            self._follow(
                resource, self.state.custom_records.taker(custom, version), options.optional_reflector
            )
            for custom in self.state.custom_resources
            for version, resource in enumerate(custom.resources)
        ]
        self._network = self._new_network_controller(component)
        self._utilisation = Utilisation(
            transport,
            options.utilisation,
            self.state.samples,
            self.state,
            self._on_changed,
            registry=registry,
            kube_metrics=self._kube_metrics,
            random=random,
            clock=clock,
            wall=wall,
            reflector=options.optional_reflector,
        )

    def _new_network_controller(self, component: str) -> NetworkController | None:
        """Make what looks after applications and networks, None if nobody looks at them."""
        options, book = self._options, self.state.applications
        if book is None:
            return None
        events: ObjectEvents | None = None
        if options.network.controllers and not options.dry_run:
            events = ObjectEvents(
                self._transport,
                component=component,
                instance=options.instance,
                wait_quiet=self._binder.wait_idle,
                metrics=self._kube_metrics,
                random=self._random,
                wall=self._wall,
            )
        return NetworkController(
            self._transport,
            book,
            events,
            self._on_changed,
            metrics=self._kube_metrics,
            random=self._random,
            clock=self._clock,
            wall=self._wall,
            reflector=options.optional_reflector,
        )

    def _new_session(self) -> Session:
        """Make the session with the solver."""
        options = self._options
        return Session(
            options.firmament,
            self,
            cluster=options.cluster,
            fencing=options.fencing,
            client=options.client,
            metrics=self._metrics,
            random=self._random,
            clock=self._clock,
            options=options.session,
        )

    def _follow(
        self,
        resource: Resource[T],
        take: Callable[[Sequence[Change[T]]], None],
        options: ReflectorOptions,
    ) -> Reflector[T]:
        """Make the reflector of one resource."""
        return Reflector(
            self._transport,
            resource,
            Feed(take, self._on_changed),
            metrics=self._kube_metrics,
            random=self._random,
            clock=self._clock,
            options=options,
        )

    def _follow_storage(self, options: ReflectorOptions) -> tuple[Reflector[Any], ...]:
        """Make the reflectors of what decides about volumes."""
        return (
            self._follow(STORAGE_CLASSES, self.state.storage_classes_changed, options),
            self._follow(CSI_NODES, self.state.csi_nodes_changed, options),
            self._follow(VOLUMES, self.state.volumes_changed, options),
            self._follow(CLAIMS, self.state.claims_changed, options),
        )

    # --- what a session asks its peer ----------------------------------------------------------------------

    def snapshot(self) -> Sequence[pb.Event]:
        """Return everything, for a solver that knows nothing."""
        return self.state.snapshot()

    def take_events(self) -> Sequence[pb.Event]:
        """Return what the solver has to be told."""
        return self.state.take_events()

    def take_reports(self) -> Sequence[pb.BindingReport]:
        """Return what has become of the solver's deltas."""
        return self.state.take_reports()

    def on_round(self, result: pb.RoundResult) -> None:
        """Carry out a round."""
        if self._draining:
            return
        self.state.on_round(result)
        stats = result.stats
        self._metrics.rounds.inc()
        for delta in result.deltas:
            self._metrics.deltas.labels(pb.Delta.Kind.Name(delta.kind)).inc()
        _log.info(
            "round round=%d placed=%d pending=%d machines=%d classes=%d certified=%s gap=%.4f seconds=%.3f",
            result.round,
            len(result.deltas),
            stats.pending,
            stats.machines,
            stats.classes,
            stats.certified,
            stats.gap,
            stats.snapshot_seconds + stats.network_seconds + stats.solve_seconds + stats.admit_seconds,
        )
        self._on_changed()

    # --- running -------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event) -> None:
        """Bridge until ``stop`` is set, then finish what is under way. Raises whatever breaks a part."""
        session = asyncio.create_task(self._session.run(), name="session")
        parts = [
            session,
            asyncio.create_task(self._nodes.run(), name="nodes"),
            asyncio.create_task(self._priority_classes.run(), name="priorityclasses"),
            asyncio.create_task(self._namespaces.run(), name="namespaces"),
            *(asyncio.create_task(each.run(), name="storage") for each in self._storage),
            asyncio.create_task(self._follow_pods(), name="pods"),
            asyncio.create_task(self._follow_use(), name="utilisation"),
            asyncio.create_task(self._follow_applications(), name="applications"),
            *(
                asyncio.create_task(self._follow_custom(each), name="custom resource")
                for each in self._custom
            ),
            asyncio.create_task(self._binder.run(), name="binder"),
            asyncio.create_task(self._claim_writer.run(), name="claims"),
            asyncio.create_task(self._recovery.run(), name="recovery"),
            asyncio.create_task(self._batch.run(), name="groups"),
            asyncio.create_task(self._expire(), name="expiry"),
            asyncio.create_task(self._events.run(), name="events"),
            asyncio.create_task(self._conditions.run(), name="conditions"),
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({*parts, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                await self._drain(session)
        finally:
            stopping.cancel()
            for part in parts:
                part.cancel()
            endings = await asyncio.gather(*parts, return_exceptions=True)
        broken = [ending for ending in endings if isinstance(ending, Exception)]
        if broken:
            raise broken[0]

    async def _follow_pods(self) -> None:
        # A pod's priority may depend on them, and is settled when the pod is first seen.
        await self._priority_classes.wait_synced()
        # Rules between pods may refer to namespaces by label: no round before these are known.
        await self._namespaces.wait_synced()
        # A claim that is not known yet would count as one that does not exist.
        for each in self._storage:
            await each.wait_synced()
        # Nor should a pod be told that its group does not exist before all groups are known.
        await self._batch.wait_synced()
        await self._pods.run()

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.state.expire()
            self._on_changed()

    async def _follow_use(self) -> None:
        # What a source says of a pod is understood once the pod is known.
        await self._nodes.wait_synced()
        await self._pods.wait_synced()
        await self._utilisation.run()

    async def _follow_applications(self) -> None:
        # What is written of an application counts its pods.
        await self._nodes.wait_synced()
        await self._pods.wait_synced()
        if self._network is None:
            await asyncio.Event().wait()
        else:
            await self._network.run()

    async def _follow_custom(self, reflector: Reflector[Any]) -> None:
        # Likewise: an object may say which pods it counts.
        await self._pods.wait_synced()
        await reflector.run()

    async def _drain(self, session: asyncio.Task[None]) -> None:
        """Finish bindings that are in flight, report them, write what waits; each within its time."""
        self._draining = True
        # What has not been posted yet is left to the successor, who begins with a new round anyway.
        left = self._binder.discard_waiting()
        _log.info("stopping bindings=%d left=%d", self._binder.unfinished, left)
        await _within(self._options.drain_bindings_seconds, self._binder.wait_idle())
        self._session.drain()
        if self._session.is_open:
            await _within(self._options.drain_reports_seconds, asyncio.wait({session}))
        writes = asyncio.gather(
            self._events.wait_drained(),
            self._conditions.wait_drained(),
            self._recovery.wait_settled(),
            *([self._network.wait_drained()] if self._network is not None else []),
        )
        await _within(self._options.drain_writes_seconds, writes)
        _log.info("stopped")

    def _on_changed(self) -> None:
        """Carry out what follows from a change of the state."""
        if not self._synced and self._is_known():
            self._synced = True
            _log.info(
                "cluster is known nodes=%d pods=%d pending=%d seconds=%.1f",
                self.state.node_count,
                self.state.pod_count,
                self.state.pending_count(),
                self._clock() - self._started,
            )
            self._session.start()
        self._batch.wake()
        self._dispatcher.dispatch(self.state.take_actions())
        if self._network is not None:
            self._network.wake()
        if self._synced:
            self._session.wake()

    def _is_known(self) -> bool:
        """Whether the solver would see the cluster as it is; a first round that does not could go badly wrong."""
        known = self._nodes.has_synced and self._pods.has_synced and self._utilisation.has_settled
        known = known and (self._network is None or self._network.has_settled)
        return known and all(each.has_synced for each in self._custom)

    def _on_outcome(self, outcome: BindOutcome) -> None:
        if outcome.result is BindResult.BOUND:
            self._metrics.pods_bound.inc()
        self.state.binding_ended(outcome)
        self._on_changed()

    def _on_evicted(self, outcome: EvictionOutcome) -> None:
        self.state.eviction_ended(outcome)
        self._on_changed()

    def _on_claim_refused(self, write: ClaimWrite, reason: str) -> None:
        self.state.claim_refused(write, reason)
        self._on_changed()


async def _within(seconds: float, work: Awaitable[object]) -> None:
    """Wait for something, but no longer than ``seconds``."""
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        _log.warning("stopping without waiting any longer seconds=%.1f", seconds)


def describe(options: BridgeOptions, server: str) -> Iterable[str]:
    """Yield ``key=value`` pairs that say what a bridge is about to do."""
    yield f"apiserver={server}"
    yield f"firmament={options.firmament}"
    yield f"cluster={options.cluster}"
    yield f"schedulerNames={','.join(options.scheduler_names)}"
    yield f"dryRun={str(options.dry_run).lower()}"
