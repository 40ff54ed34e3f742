"""Passes actions to the writers that carry them out, and the outcomes to the bridge's state."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from poseidon.bridge.binding_traces import BindingTraces
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.state import BridgeState
from poseidon.kube.api.collections import NATIVE_POD_GROUPS
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.environment import Environment
from poseidon.kube.write.binder import Binder, BindOutcome, BindRequest, BindResult
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, DeviceClaimWriter, WriteEnd
from poseidon.kube.write.event_writer import EventWriter
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest, Evictor
from poseidon.kube.write.patch_writer import (
    ConditionWriter,
    ConfigMapWrite,
    GroupConditionWrite,
    GroupConditionWriter,
    GroupStatusWrite,
    LabelWrite,
    NominatedNodeWrite,
    PatchWriter,
    QueueStatusWrite,
    QueueStatusWriter,
)
from poseidon.kube.write.pod_recovery import PodRecovery
from poseidon.kube.write.suspension_writer import SuspensionEnd, SuspensionWrite, SuspensionWriter
from poseidon.kube.write.volume_claim_writer import ClaimWrite, ClaimWriter, GiveVolume, SelectNode
from poseidon.lifecycle.actions import (
    Action,
    AnnounceGroup,
    AnnouncePreempted,
    AnnounceRefused,
    AnnounceScheduled,
    AnnounceUnschedulable,
    Bind,
    DeleteRefused,
    Evict,
    RecreateRefused,
    WithdrawEviction,
)
from poseidon.lifecycle.refused_pods import RECREATIONS

_log = logging.getLogger(__name__)

_SHOWN = 200
"""Most characters of an action that are logged."""


class Writers:
    """The writers that carry out actions (bindings with ``binder``), report outcomes to ``state`` and call ``changed``.

    ``served`` returns the path at which this API server serves a collection, by the path of its preferred version.
    ``traces`` create spans of bindings. In a dry run, actions are only logged, and bindings stay under way for ever, so
    that the solver keeps the pods' places.
    """

    def __init__(
        self,
        environment: Environment,
        options: BridgeOptions,
        state: BridgeState,
        served: Callable[[str], str],
        changed: Callable[[], None],
        metrics: BridgeMetrics,
        traces: BindingTraces | None = None,
    ) -> None:
        self._state = state
        self._quarantine = environment.quarantine
        self._changed = changed
        self._metrics = metrics
        self._traces = traces
        self._wall = environment.wall
        self._dry_run = options.dry_run
        self._ended = asyncio.Event()
        self._newly_bound = 0
        self.binder = Binder(
            environment,
            self._on_bound,
            refusal=lambda request: state.refusal(request.uid, request.node),
            options=options.binder,
        )
        metrics.bindings_waiting.set_function(lambda: self.binder.unfinished)
        behind = environment, self.binder.wait_quiet, options.writes
        self._events = EventWriter(
            environment,
            self.binder.wait_quiet,
            component=options.component,
            instance=options.instance,
            options=options.writes,
        )
        self._conditions = ConditionWriter(environment, self.binder.wait_quiet, options.conditions)
        self._recovery = PodRecovery(environment, RECREATIONS)
        self._claims = ClaimWriter(environment, self._on_claim_refused)
        self._device_claims = DeviceClaimWriter(environment, self._on_device_claim_written)
        self._suspensions = SuspensionWriter(environment, self._on_suspension_written)
        self._evictor = Evictor(environment, self._on_evicted)
        self._nominations = PatchWriter("nomination", *behind)
        self._topology = PatchWriter("topology group", *behind)
        self._statuses = PatchWriter("pod group", *behind)
        self._group_conditions = GroupConditionWriter(lambda: served(NATIVE_POD_GROUPS.path), *behind)
        self._queues = QueueStatusWriter(served, *behind)
        self._how = self._table()

    def _table(self) -> dict[type[Action], Callable[[Any], None]]:
        """Return the function that carries out each kind of action."""
        return {
            Bind: self._bind,
            AnnounceScheduled: self._announce_scheduled,
            AnnounceUnschedulable: self._announce_unschedulable,
            Evict: lambda action: self._evictor.submit(EvictionRequest(*action)),
            WithdrawEviction: lambda action: self._evictor.withdraw(action.uid),
            AnnouncePreempted: lambda action: self._events.say(
                action.pod, EventReason.PREEMPTED, action.message
            ),
            NominatedNodeWrite: self._nominations.submit,
            AnnounceGroup: lambda action: self._events.say(*action),
            AnnounceRefused: self._announce_refused,
            RecreateRefused: lambda action: self._recovery.recreate(*action),
            DeleteRefused: lambda action: self._recovery.delete(action.pod),
            SelectNode: self._claims.submit,
            GiveVolume: self._claims.submit,
            DeviceClaimWrite: self._device_claims.submit,
            GroupStatusWrite: self._statuses.submit,
            GroupConditionWrite: self._group_conditions.submit,
            ConfigMapWrite: self._topology.submit,
            LabelWrite: self._topology.submit,
            QueueStatusWrite: self._queues.submit,
            SuspensionWrite: self._suspensions.submit,
        }

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Queue actions. If an action cannot be queued, the remaining actions are queued nevertheless."""
        for action in actions:
            try:
                if self._dry_run:
                    _say(action)
                else:
                    self._how[type(action)](action)
            except Exception as error:  # noqa: BLE001 - whatever it is, others must not wait for it
                self._quarantine.set_aside("actions", type(action).__name__, error, name=str(action)[:_SHOWN])

    async def wait_drained(self) -> None:
        """Wait until all events, conditions and statuses are written, and no pod is between deletion and creation."""
        telling = (
            self._events, self._conditions, self._statuses, self._group_conditions, self._topology, self._queues,
        )  # fmt: skip
        await asyncio.gather(self._recovery.wait_settled(), *(each.wait_drained() for each in telling))

    def parts(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield the tasks that must run until cancelled, with names."""
        yield "binder", self.binder.run()
        yield "bindings", self._follow_up()
        yield "claims", self._claims.run()
        yield "claims of devices", self._device_claims.run()
        yield "suspended objects", self._suspensions.run()
        yield "recovery", self._recovery.run()
        yield "evictions", self._evictor.run()
        yield "nominations", self._nominations.run()
        for each in (self._statuses, self._group_conditions, self._topology, self._queues):
            yield "groups", each.run()
        yield "events", self._events.run()
        yield "conditions", self._conditions.run()

    # --- carrying out actions ------------------------------------------------------------------------------

    def _bind(self, action: Bind) -> None:
        pod, node, complained = action
        _log.debug("binding pod=%s node=%s", pod, node)
        if complained:  # A message about a failure that is still unwritten would contradict the binding.
            self._conditions.withdraw(pod.uid)
            self._events.withdraw_failure(pod.uid)
        self.binder.submit(BindRequest(pod.uid, pod.namespace, pod.name, node))

    def _announce_scheduled(self, action: AnnounceScheduled) -> None:
        self._events.write_scheduled(*action)
        self._nominations.withdraw(action.pod.uid)

    def _announce_unschedulable(self, action: AnnounceUnschedulable) -> None:
        pod, message, was_unschedulable, undecided = action
        self._events.say(pod, EventReason.FAILED_SCHEDULING, message)
        self._conditions.unschedulable(pod, message, was_unschedulable=was_unschedulable, undecided=undecided)

    def _announce_refused(self, action: AnnounceRefused) -> None:
        pod, reason, message = action
        _log.info('refused pod=%s message="%s"', pod, message)
        self._metrics.pods_refused.labels(reason).inc()
        self._events.say(pod, EventReason.REFUSED, message)

    # --- outcomes of writes -----------------------------------------------------------------------------

    def _on_bound(self, outcome: BindOutcome) -> None:
        if outcome.result is BindResult.BOUND:
            self._newly_bound += 1
            created = self._state.get_creation_time(outcome.request.uid)
            if created:
                self._metrics.scheduling.observe(max(self._wall() - created, 0.0))
        with self._quarantine.attempt("bindings", outcome.request.uid, name=outcome.request.name):
            self._state.binding_ended(outcome)
            if self._traces is not None:
                self._traces.binding_ended(outcome)
        # The bridge's state is updated at once, because the check of the next binding depends on it.
        self._ended.set()

    async def _follow_up(self) -> None:
        """Call ``changed`` after bindings have ended, for ever; once for all bindings that end together."""
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

    def _on_device_claim_written(self, end: WriteEnd) -> None:
        with self._quarantine.attempt("claims of devices", end.write.key):
            self._state.device_claim_written(end)
        self._changed()

    def _on_suspension_written(self, end: SuspensionEnd) -> None:
        if not end.refusal and not end.write.suspended:
            created = self._state.get_workload_creation_time(end.write.uid)
            if created:
                self._metrics.admission_wait.observe(max(self._wall() - created, 0.0))
        elif end.refusal:
            what = "suspended" if end.write.suspended else "resumed"
            _log.warning('not %s object=%s reason="%s"', what, end.write.about, end.refusal)
        with self._quarantine.attempt("suspended objects", end.write.uid, name=str(end.write.about)):
            self._state.suspension_written(end)
        self._changed()


def _say(action: Action) -> None:
    """Log the action that a dry run leaves out."""
    match action:
        case Bind(pod, node):
            _log.info("would bind pod=%s node=%s", pod, node)
        case SelectNode() | GiveVolume():
            _log.info("would have a claim bound claim=%s/%s", action.namespace, action.claim)
        case DeviceClaimWrite():
            _log.info("would write the status of a ResourceClaim claim=%s", action.key)
        case SuspensionWrite(about, _, _, _, suspended):
            _log.info("would %s %s=%s", "suspend" if suspended else "resume", about.kind, about)
        case AnnounceUnschedulable(pod, message, _):
            _log.info('would report pod=%s reason="%s"', pod, message)
        case Evict(pod, node, _, message):
            _log.info('would evict pod=%s node=%s message="%s"', pod, node, message)
        case AnnounceGroup(group, reason, message):
            _log.info('would report group=%s reason=%s message="%s"', group, reason, message)
        case RecreateRefused(pod, _, delay):
            _log.info("would create a refused pod again pod=%s in=%.0fs", pod, delay)
        case DeleteRefused(pod):
            _log.info("would delete a refused pod pod=%s", pod)
