"""Carries out what the state asks for: bindings first, announcements behind them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from poseidon.bridge.actions import Action, AnnounceScheduled, AnnounceUnschedulable, Bind, WriteClaim
from poseidon.kube.binder import Binder, BindRequest

if TYPE_CHECKING:
    from poseidon.kube.claim_writer import ClaimWriter
    from poseidon.kube.condition_writer import ConditionWriter
    from poseidon.kube.event_writer import EventWriter

_log = logging.getLogger(__name__)


class Dispatcher(Protocol):
    """Carries out actions."""

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Carry out the actions, or queue them; must not block."""


class LiveDispatcher:
    """Changes the cluster."""

    def __init__(
        self, binder: Binder, events: EventWriter, conditions: ConditionWriter, claims: ClaimWriter
    ) -> None:
        self._binder = binder
        self._events = events
        self._conditions = conditions
        self._claims = claims

    def dispatch(self, actions: Iterable[Action]) -> None:
        """Queue bindings, events and conditions."""
        for action in actions:
            match action:
                case Bind(pod, node):
                    _log.debug("binding pod=%s node=%s", pod, node)
                    # A failure that has not been written yet would contradict the binding.
                    self._conditions.withdraw(pod.uid)
                    self._events.withdraw_failure(pod.uid)
                    self._binder.submit(BindRequest(pod.uid, pod.namespace, pod.name, node))
                case AnnounceScheduled(pod, node):
                    self._events.scheduled(pod, node)
                case WriteClaim(write):
                    self._claims.submit(write)
                case AnnounceUnschedulable(pod, message, was_unschedulable):
                    self._events.failed_scheduling(pod, message)
                    self._conditions.unschedulable(pod, message, was_unschedulable=was_unschedulable)


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
