"""What the bridge writes with: bindings, claims, events, conditions, and what concerns groups and evictions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from poseidon.bridge.dispatcher import Dispatcher, DryRunDispatcher, LiveDispatcher
from poseidon.bridge.group_runtime import BatchRuntime, Follow
from poseidon.kube.write.binder import Binder, BindOutcome, BindResult
from poseidon.kube.write.claim_writer import ClaimWriter
from poseidon.kube.write.event_writer import EventWriter
from poseidon.kube.write.patch_writer import ConditionWriter
from poseidon.kube.write.pod_recovery import PodRecovery
from poseidon.lifecycle.recovery import RECREATIONS

if TYPE_CHECKING:
    from poseidon.bridge.binding_traces import BindingTraces
    from poseidon.bridge.metrics import BridgeMetrics
    from poseidon.bridge.options import BridgeOptions
    from poseidon.bridge.state import BridgeState
    from poseidon.kube.watch.environment import Environment
    from poseidon.kube.write.claim_writer import ClaimWrite
    from poseidon.kube.write.evictor import EvictionOutcome
    from poseidon.lifecycle.actions import Action


class Writers:
    """Carries out actions, and tells ``state`` what has become of them; calls ``changed`` when it has.

    ``follow`` makes reflectors of what is only followed for writing about it. ``traces`` are told how bindings end.
    """

    def __init__(
        self,
        environment: Environment,
        options: BridgeOptions,
        state: BridgeState,
        follow: Follow,
        changed: Callable[[], None],
        metrics: BridgeMetrics,
        traces: BindingTraces | None = None,
    ) -> None:
        self._traces = traces
        transport, kube_metrics, random = environment.transport, environment.metrics, environment.random
        self._state = state
        self._quarantine = environment.quarantine
        self._changed = changed
        self._ended = asyncio.Event()
        self._newly_bound = 0
        self._metrics = metrics
        self._wall = environment.wall
        self._binder = Binder(
            transport,
            self._on_bound,
            metrics=kube_metrics,
            random=random,
            clock=environment.clock,
            refusal=lambda request: state.refusal(request.uid, request.node),
            options=options.binder,
        )
        metrics.bindings_waiting.set_function(lambda: self.unfinished)
        self._events = EventWriter(
            environment.for_events or transport,
            component=options.component,
            instance=options.instance,
            wait_quiet=self.wait_quiet,
            metrics=kube_metrics,
            random=random,
            wall=environment.wall,
            options=options.writes,
        )
        self._conditions = ConditionWriter(
            transport,
            wait_quiet=self.wait_quiet,
            metrics=kube_metrics,
            random=random,
            wall=environment.wall,
            options=options.conditions,
        )
        self._recovery = PodRecovery(transport, annotation=RECREATIONS, metrics=kube_metrics, random=random)
        self._claims = ClaimWriter(transport, self._on_claim_refused, random=random)
        self._batch = BatchRuntime(
            environment,
            state.gangs,
            follow,
            self._events,
            self._on_evicted,
            wait_quiet=self.wait_quiet,
            writes=options.writes,
        )
        self._dispatcher = self._new_dispatcher(dry_run=options.dry_run)

    def _new_dispatcher(self, *, dry_run: bool) -> Dispatcher:
        if dry_run:
            return DryRunDispatcher()
        return LiveDispatcher(
            self._binder,
            self._events,
            self._conditions,
            self._claims,
            self._recovery,
            self._batch,
            self._metrics,
            self._quarantine,
        )

    @property
    def unfinished(self) -> int:
        """How many bindings wait or are in flight."""
        return self._binder.unfinished

    def wake(self) -> None:
        """Follow what has come to matter."""
        self._batch.wake()

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Queue what has to be done."""
        self._dispatcher.dispatch(actions)

    async def groups_known(self) -> None:
        """Wait until the objects that pods may name as their group are known."""
        await self._batch.wait_synced()

    async def wait_bound(self) -> None:
        """Wait until no binding waits or is in flight."""
        await self._binder.wait_idle()

    async def wait_quiet(self) -> None:
        """Wait until no binding has waited or been in flight for a while."""
        await self._binder.wait_quiet()

    def discard_waiting(self) -> int:
        """Drop the bindings that have not been posted yet. Returns how many."""
        return self._binder.discard_waiting()

    async def wait_drained(self) -> None:
        """Wait until nothing that tells people waits to be written, and no pod is between two writes."""
        await asyncio.gather(
            self._events.wait_drained(),
            self._conditions.wait_drained(),
            self._recovery.wait_settled(),
            self._batch.wait_drained(),
        )

    def parts(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield what has to run until it is cancelled, with names."""
        yield "binder", self._binder.run()
        yield "bindings", self._follow_up()
        yield "claims", self._claims.run()
        yield "recovery", self._recovery.run()
        yield "groups", self._batch.run()
        yield "events", self._events.run()
        yield "conditions", self._conditions.run()

    # --- what has become of it -----------------------------------------------------------------------------

    def _on_bound(self, outcome: BindOutcome) -> None:
        if outcome.result is BindResult.BOUND:
            self._newly_bound += 1
            created = self._state.created(outcome.request.uid)
            if created:
                self._metrics.scheduling.observe(max(self._wall() - created, 0.0))
        with self._quarantine.attempt("bindings", outcome.request.uid, name=outcome.request.name):
            self._state.binding_ended(outcome)
            if self._traces is not None:
                self._traces.binding_ended(outcome)
        # The state knows at once, since others are asked about next.
        self._ended.set()

    async def _follow_up(self) -> None:
        """Do what follows from bindings that have ended, once for all answers that came together, for ever."""
        while True:
            await self._ended.wait()
            self._ended.clear()
            self._metrics.pods_bound.inc(self._newly_bound)
            self._newly_bound = 0
            self._changed()

    def _on_evicted(self, outcome: EvictionOutcome) -> None:
        with self._quarantine.attempt("evictions", outcome.request.uid, name=str(outcome.request.pod)):
            self._state.eviction_ended(outcome)
        self._changed()

    def _on_claim_refused(self, write: ClaimWrite, reason: str) -> None:
        with self._quarantine.attempt("claims", f"{write.namespace}/{write.claim}"):
            self._state.claim_refused(write, reason)
        self._changed()
