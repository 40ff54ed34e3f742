"""Carries out what the state asks for: bindings first, announcements behind them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, assert_never

from poseidon.kube.write.binder import Binder, BindRequest
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
    Nominate,
    Recovery,
    RecreateRefused,
    WithdrawEviction,
    WriteClaim,
    WriteGroupCondition,
    WriteGroupMap,
    WriteGroupStatus,
    WriteMemberLabels,
)

if TYPE_CHECKING:
    from poseidon.bridge.group_runtime import BatchRuntime
    from poseidon.bridge.metrics import BridgeMetrics
    from poseidon.kube.watch.quarantine import Quarantine
    from poseidon.kube.write.claim_writer import ClaimWriter
    from poseidon.kube.write.event_writer import EventWriter
    from poseidon.kube.write.patch_writer import ConditionWriter
    from poseidon.kube.write.pod_recovery import PodRecovery

_log = logging.getLogger(__name__)

_SHOWN = 200
"""Characters of an action that are logged."""


class Dispatcher(Protocol):
    """Carries out actions."""

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Carry out the actions, or queue them; must not block."""


class LiveDispatcher:
    """Changes the cluster."""

    def __init__(
        self,
        binder: Binder,
        events: EventWriter,
        conditions: ConditionWriter,
        claims: ClaimWriter,
        recovery: PodRecovery,
        batch: BatchRuntime,
        metrics: BridgeMetrics,
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self._binder = binder
        self._events = events
        self._conditions = conditions
        self._claims = claims
        self._recovery = recovery
        self._batch = batch
        self._metrics = metrics

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Queue bindings, events and conditions; what cannot be queued holds up nothing else."""
        for action in actions:
            try:
                self._queue(action)
            except Exception as error:  # noqa: BLE001 - whatever it is, others must not wait for it
                self._quarantine.set_aside("actions", type(action).__name__, error, name=str(action)[:_SHOWN])

    def _queue(self, action: Action) -> None:
        match action:
            case Bind(pod, node):
                _log.debug("binding pod=%s node=%s", pod, node)
                # A failure that has not been written yet would contradict the binding.
                self._conditions.withdraw(pod.uid)
                self._events.withdraw_failure(pod.uid)
                self._binder.submit(BindRequest(pod.uid, pod.namespace, pod.name, node))
            case AnnounceScheduled(pod, node):
                self._events.scheduled(pod, node)
                self._batch.bound(pod.uid)
            case WriteClaim(write):
                self._claims.submit(write)
            case AnnounceUnschedulable(pod, message, was_unschedulable, undecided):
                self._events.failed_scheduling(pod, message)
                self._conditions.unschedulable(
                    pod, message, was_unschedulable=was_unschedulable, undecided=undecided
                )
            case AnnounceRefused() | RecreateRefused() | DeleteRefused():
                self._recover(action)
            case Evict() | AnnouncePreempted() | Nominate() | WriteGroupStatus() | AnnounceGroup():
                self._batch.carry_out(action)
            case WithdrawEviction() | WriteGroupCondition() | WriteGroupMap() | WriteMemberLabels():
                self._batch.carry_out(action)
            case _:
                assert_never(action)

    def _recover(self, action: Recovery) -> None:
        match action:
            case AnnounceRefused(pod, reason, message):
                _log.info('refused pod=%s message="%s"', pod, message)
                self._metrics.pods_refused.labels(reason).inc()
                self._events.refused(pod, message)
            case RecreateRefused(pod, times, delay):
                self._recovery.recreate(pod, times, delay)
            case DeleteRefused(pod):
                self._recovery.delete(pod)


class DryRunDispatcher:
    """Says what it would do."""

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Log the actions. Bindings stay under way for ever, so that the solver keeps their places."""
        for action in actions:
            match action:
                case Bind(pod, node):
                    _log.info("would bind pod=%s node=%s", pod, node)
                case WriteClaim(write):
                    _log.info("would have a claim bound claim=%s/%s", write.namespace, write.claim)
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
