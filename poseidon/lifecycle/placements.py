"""Turns the solver's deltas into bindings and evictions, and their outcomes into reports for the solver."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from poseidon.devices.claims import read_allocations
from poseidon.devices.state import DeviceState
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.binder import BindOutcome, BindResult
from poseidon.kube.write.evictor import EvictionOutcome
from poseidon.lifecycle.actions import Action, AnnouncePreempted, AnnounceScheduled
from poseidon.lifecycle.bind_check import BindCheck
from poseidon.lifecycle.evictions.evictions import Evictions
from poseidon.lifecycle.failed_scheduling_timing import PendingReasons
from poseidon.lifecycle.pending_bindings import PendingBindings
from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, Event, Phase, PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.lifecycle.refused_deltas import Kind, Reason, Refusals
from poseidon.nodes.machines import Machines
from poseidon.volumes.state import VolumeState
from protos.firmament.v1 import scheduler_pb2 as pb

_log = logging.getLogger(__name__)

_KINDS = pb.Delta.Kind.DESCRIPTOR.values_by_number

PART_DELTAS = 250
"""How many deltas are handled in one step, which takes a few milliseconds.

The API server needs longer for as many bindings.
"""

_UNSUPPORTED = "this driver can neither move running pods nor do what it does not know"


@dataclass(slots=True, eq=False, repr=False)
class Placements:
    """The decisions which bindings are posted after a round, and the reports of a round's outcomes to the solver."""

    tasks: PodRecords
    """The pods for the solver."""
    machines: Machines
    """The nodes as machines."""
    bind_check: BindCheck
    """Checks whether pods fit beside those on a node."""
    volumes: VolumeState
    """Claims and volumes."""
    devices: DeviceState
    """Claims of devices."""
    pending: PendingBindings
    """Decides when a placed pod is bound."""
    pending_reasons: PendingReasons
    """Decides when to report why pods stay pending."""
    evictions: Evictions
    """Begins and withdraws evictions."""
    refusals: Refusals
    """Counts the solver's deltas that are not carried out."""
    actions: list[Action]
    """Receives the actions to carry out."""
    quarantine: Quarantine
    """Keeps objects that could not be handled."""

    # --- results of rounds ---------------------------------------------------------------------------------

    def on_round(self, result: pb.RoundResult) -> None:
        """Turn a round's deltas into bindings and evictions, and report why other pods stay pending."""
        evicts = any(delta.kind == pb.Delta.PREEMPT for delta in result.deltas)
        staying = self._evict(result) if evicts else set()
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE:
                with self.quarantine.attempt("deltas", delta.task) as attempt:
                    self._place(delta, staying)
                if attempt.failed:
                    self._cannot_place(delta)
            elif delta.kind != pb.Delta.PREEMPT:
                self.refusals.note(Kind.MIGRATION, Reason.UNSUPPORTED, delta.task, _UNSUPPORTED)
                self.pending.report(delta.task, delta.machine, _UNSUPPORTED, retry=False)
        for group in result.unscheduled:
            for uid in group.tasks:
                with self.quarantine.attempt("reasons", uid):
                    self._stays(uid, group.message)

    def _cannot_place(self, delta: pb.Delta) -> None:
        """Drop a placement whose handling raised an exception, and report to the solver that it was not made."""
        record, words = self.tasks.get(delta.task), "cannot be carried out"
        if record is not None and record.phase is Phase.PLACED:
            self.pending.fail(record, words, retry=True)
        else:
            self.pending.report(delta.task, delta.machine, words, retry=True)

    def _evict(self, result: pb.RoundResult) -> set[str]:
        """Begin the evictions of a round; return the uids of victims that stay."""
        refused = self.evictions.begin_all(result, self._can_be_placed)
        for victim, verdict in refused:
            self.pending.report(victim.task, victim.machine, verdict.words, retry=True)
        return {victim.task for victim, _ in refused}

    def _stays(self, uid: str, message: str) -> None:
        """Report why a pod got no place, unless it has a place by now or is not sent to the solver."""
        record = self.tasks.get(uid)
        if record is not None and record.schedulable and not record.waits_for:
            if not record.place:
                self.pending.stop_waiting(record)
                if record.uses_devices:
                    self.devices.note_unplaced(uid)
            self.pending_reasons.consider(record, message)

    def _place(self, delta: pb.Delta, staying: set[str]) -> None:
        uid, machine = delta.task, delta.machine
        record = self.tasks.get(uid)
        if record is not None and record.phase is Phase.WAITING:
            self.pending.take_back(record)
        if record is not None and self.machines.has_returned(machine):
            # The round may have begun before the solver learnt that the machine was removed. The solver then forgot
            # this task, so the bridge sends the task again.
            self.tasks.resync(record)
        if record is None:
            self._refuse(delta, Reason.GONE, "the pod is gone", retry=False)
        elif record.node:
            self._already_bound(record, machine)
        elif record.binding:
            self._correct_placement(record, machine)
        elif not record.offered:
            self._refuse(delta, Reason.NOT_PENDING, "the pod must not be scheduled now", retry=False)
        elif record.claims_refuse:
            # The round began before the solver learnt that the pod's claims allow no node. The solver must try the
            # pod again, so that it reports why the pod waits.
            self._refuse(delta, Reason.NOT_PENDING, record.claims_refuse, retry=True)
        elif machine not in self.machines:
            self._refuse(delta, Reason.NO_NODE, f"node {machine} is gone", retry=True)
            # Whatever the solver did when the machine was removed, the task must be pending in the solver now.
            self.tasks.resync(record)
        else:
            _log.debug("placed pod=%s node=%s", record.ref, machine)
            self.tasks.move(record, Event.PLACED, machine)
            if record.uses_devices:
                problem = self.devices.assume(
                    record.ref, read_allocations(delta.allocations), delta.depends_on
                )
                if problem:
                    self.pending.fail(record, problem, retry=True)
                    return
            self.pending.begin(record, delta.depends_on, staying)

    def _can_be_placed(self, delta: pb.Delta) -> bool:
        """Return whether the placement of a pod can be made, so that victims may be evicted for it."""
        record = self.tasks.get(delta.task)
        if record is None or record.node or not record.offered:
            return False
        if record.claims_refuse and not record.binding:
            return False
        return (record.phase is Phase.WAITING or not record.binding) and delta.machine in self.machines

    def _refuse(self, delta: pb.Delta, reason: Reason, words: str, *, retry: bool) -> None:
        """Refuse a placement: count the refusal, and report the reason to the solver."""
        self.refusals.note(Kind.BINDING, reason, delta.task, words)
        self.pending.report(delta.task, delta.machine, words, retry=retry)

    def volumes_settled(self, record: PodRecord, reason: str) -> None:
        """Continue with a pod whose volume claims are bound; a ``reason`` says why they will not be."""
        if record.phase is not Phase.BINDING_CLAIMS:
            return
        if not reason:
            self.pending.reserve_devices(record)
            return
        _log.info('volumes not bound pod=%s node=%s reason="%s"', record.ref, record.binding, reason)
        self.pending.fail(record, reason, retry=True, nominated=True)
        self.pending_reasons.consider(record, f"volumes could not be bound: {reason}")

    def devices_settled(self, record: PodRecord, reason: str) -> None:
        """Bind a pod whose device claims are written; a ``reason`` says why they will not be."""
        if record.phase is not Phase.BINDING_CLAIMS:
            return
        if not reason:
            self.pending.post(record)
            return
        _log.info('devices not reserved pod=%s node=%s reason="%s"', record.ref, record.binding, reason)
        self.pending.fail(record, reason, retry=True)
        self.pending_reasons.consider(record, f"devices could not be reserved: {reason}")

    def _already_bound(self, record: PodRecord, machine: str) -> None:
        if record.node == machine:
            self.pending.confirm(record)
        else:
            # After this report, the solver gives up its own placement; the next event states the pod's node.
            words = f"already assigned to node {record.node}"
            self.refusals.note(Kind.BINDING, Reason.ELSEWHERE, record.task.name, words)
            self.pending.report(record.task.uid, machine, words, retry=False)

    def _correct_placement(self, record: PodRecord, machine: str) -> None:
        """Keep the binding that is under way or done.

        If the solver chose another machine, report the binding's node.
        """
        if machine != record.binding or not record.in_flight:
            self.tasks.resync(record)

    def refusal(self, uid: str, node: str) -> str:
        """Return why a binding under way must not be posted now, "" if it may be posted.

        The pod is already counted on its node. A refused pod is no longer counted as soon as its outcome is noted. If
        several pods no longer fit together, only as many as necessary are therefore refused.
        """
        record = self.tasks.get(uid)
        if record is not None and not record.place:
            return "it has been given up"
        if record is None or record.binding != node:
            # The pod has been deleted or replaced: the API server will refuse the binding.
            return ""
        problem = self.bind_check.refusal(
            record.task.task_class,
            node,
            lambda: self.pending.absent(record),
            lambda: self.volumes.count_already_attached(uid),
        )
        if problem:
            self.refusals.note(Kind.BINDING, Reason.UNFIT, record.task.name, problem)
        return problem

    # --- outcomes of bindings and evictions ----------------------------------------------------------------

    def binding_ended(self, outcome: BindOutcome) -> None:
        """Note the outcome of a binding."""
        uid = outcome.request.uid
        record = self.tasks.get(uid)
        if record is None or record.binding != outcome.request.node:
            return
        # If the answer was lost, the watch may have shown the pod on its node already.
        if outcome.result is BindResult.BOUND or record.node == record.binding:
            self.tasks.move(record, Event.ACCEPTED)
            self.pending.confirm(record)
            self._announce_bound(record)
            self.pending.forget_ended(uid)
        elif record.phase in (Phase.BINDING, Phase.ANSWER_DUE):
            _log.debug(
                'not bound pod=%s node=%s reason="%s"', record.task.name, record.binding, outcome.reason
            )
            again = outcome.result in (BindResult.FAILED, BindResult.WITHHELD)
            if record.uses_devices and outcome.result is BindResult.WITHHELD:
                self.devices.note_not_posted(uid)
            self.pending.fail(record, outcome.reason, retry=again, nominated=again, event=Event.REFUSED)

    def note_shown(self, record: PodRecord, node: str) -> None:
        """Note that the watch shows a pod of this scheduler on a node. The outcome of a binding may follow."""
        before, placed_on = record.phase, record.binding
        self.tasks.move(record, Event.SHOWN, node)
        if before not in UNPLACED | UNDER_WAY or (before is Phase.BINDING and placed_on == node):
            return
        if before in UNDER_WAY and before is not Phase.BINDING:
            self.pending.note_overtaken(record, placed_on)
        self._announce_bound(record)
        self.pending.note_settled(record.task.uid)

    def _announce_bound(self, record: PodRecord) -> None:
        if not record.announced:
            record.announced = True
            record.nominated = ""
            self.actions.append(AnnounceScheduled(record.ref, record.place))

    def eviction_ended(self, outcome: EvictionOutcome) -> None:
        """Note the outcome of an eviction. An accepted eviction ends when the pod is deleted."""
        uid = outcome.request.uid
        record = self.tasks.get(uid)
        if not outcome.refusal:
            # Pods may be deleted before the answer arrives.
            if not outcome.gone:
                self.actions.append(AnnouncePreempted(outcome.request.pod, outcome.request.message))
            return
        if record is None:
            return
        _log.info('not evicted pod=%s reason="%s"', record.task.name, outcome.refusal)
        self.tasks.move(record, Event.STAYS)
        if record.phase is not Phase.LEAVING:
            self.pending.report(uid, outcome.request.node, outcome.refusal, retry=True)
            reason = f"pod {record.task.name} was not evicted: {outcome.refusal}"
            self.pending.fail_dependents(uid, reason)

    def recall(self, uids: Iterable[str], reason: str) -> None:
        """Take their places from pods that the solver has given up, unless they are bound already.

        A posted binding may succeed nevertheless; the watch then shows the pod on its node, like any other pod.
        """
        for uid in uids:
            record = self.tasks.get(uid)
            if record is not None and record.phase in UNDER_WAY:
                self.pending.fail(record, reason, retry=True)


def kind_of(kind: int) -> str:
    """Return the name of a kind of deltas; "UNKNOWN" for kinds that only a newer solver sends."""
    found = _KINDS.get(kind)
    return found.name if found is not None else "UNKNOWN"


def parts_of(result: pb.RoundResult, most: int = PART_DELTAS) -> Iterator[pb.RoundResult]:
    """Yield a round in parts of at most ``most`` deltas, in order; the last part also has everything that is no delta.

    A round with evictions is not cut into parts, because its evictions and placements are one decision.
    """
    deltas = result.deltas
    whole = len(deltas) <= most or any(delta.kind == pb.Delta.PREEMPT for delta in deltas)
    if whole:
        yield result
        return
    last = (len(deltas) - 1) // most * most
    for begin in range(0, last, most):
        yield pb.RoundResult(round=result.round, deltas=deltas[begin : begin + most])
    rest = pb.RoundResult()
    rest.CopyFrom(result)
    del rest.deltas[:last]
    yield rest
