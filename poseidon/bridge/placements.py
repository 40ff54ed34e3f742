"""From the solver's deltas to bindings, and from their outcomes to reports."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from poseidon.bridge.actions import (
    Action,
    AnnouncePreempted,
    AnnounceScheduled,
    Bind,
    WriteClaim,
)
from poseidon.bridge.dependencies import Dependencies
from poseidon.bridge.evictions import Evictions
from poseidon.bridge.settlement import Settlement
from poseidon.kube.binder import BindOutcome, BindResult
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from poseidon.bridge.announcements import Announcements
    from poseidon.bridge.fitness import Fitness
    from poseidon.bridge.machines import Machines
    from poseidon.bridge.records import PodRecord
    from poseidon.bridge.tasks import Tasks
    from poseidon.kube.claim_writer import ClaimWrite
    from poseidon.kube.evictor import EvictionOutcome
    from poseidon.volumes.state import VolumeState

_log = logging.getLogger(__name__)

_NAMED = 3
"""How many of the pods that one waits for are named."""


class Placements:
    """Decides what to post for a round, and what to report back.

    A pod whose place others have to leave is bound once they are gone; its status names the node until then.
    Claims of a pod are bound before it is, by ``volumes``; ``clock`` is monotonic. What is said of pods that
    stay pending, and when, is for ``announcements`` to decide.
    """

    def __init__(
        self,
        tasks: Tasks,
        machines: Machines,
        fitness: Fitness,
        volumes: VolumeState,
        announcements: Announcements,
        clock: Callable[[], float],
    ) -> None:
        self._tasks = tasks
        self._machines = machines
        self._fitness = fitness
        self._volumes = volumes
        self._announcements = announcements
        self._clock = clock
        self._dependencies = Dependencies()
        self._evictions = Evictions(tasks)
        self._actions: list[Action] = []
        self._settlement = Settlement(tasks, self._dependencies, self._act)

    def take_reports(self) -> list[pb.BindingReport]:
        """Return the reports for the solver, once."""
        return self._settlement.take_reports()

    def take_actions(self) -> list[Action]:
        """Return what has to be done, once."""
        actions, self._actions = self._actions, []
        return actions

    def _act(self, action: Action) -> None:
        self._actions.append(action)

    def forget_reports(self) -> None:
        """A snapshot says it all: reports about deltas of an earlier stream mean nothing on the next."""
        self._settlement.forget_reports()

    # --- rounds --------------------------------------------------------------------------------------------

    def on_round(self, result: pb.RoundResult) -> None:
        """Turn deltas into bindings, and reasons into announcements where they are new."""
        unsupported = 0
        evictions, refused = self._evictions.begin_all(result)
        self._actions += evictions
        for victim, problem in refused:
            self._settlement.report(victim.task, victim.machine, problem, retry=True)
        staying = {victim.task for victim, _ in refused}
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE:
                self._place(delta, staying)
            elif delta.kind != pb.Delta.PREEMPT:
                unsupported += 1
                self._settlement.report(
                    delta.task, delta.machine, "this driver cannot move running pods", retry=False
                )
        if unsupported:
            _log.error(
                "deltas that move running pods cannot be carried out round=%d deltas=%d",
                result.round,
                unsupported,
            )
        for group in result.unscheduled:
            message = group.message
            for uid in group.tasks:
                record = self._tasks.get(uid)
                if record is not None and record.schedulable and not record.waits_for:
                    if not record.place:
                        self._settlement.nominate(record, "")
                    self.announce(record, message)

    def announce(self, record: PodRecord, message: str) -> None:
        """Say why a pod stays pending, if that is new."""
        said = self._announcements.consider(record, message)
        if said is not None:
            self._actions.append(said)

    def announce_due(self) -> None:
        """Say what was put off for a while, if the while is over."""
        self._actions.extend(self._announcements.take_due())

    def _place(self, delta: pb.Delta, staying: set[str]) -> None:
        uid, machine = delta.task, delta.machine
        record = self._tasks.get(uid)
        if record is not None and record.in_flight and not record.node and self._dependencies.holds(uid):
            self._take_back(record)
        if record is None:
            self._settlement.report(uid, machine, "the pod is gone", retry=False)
        elif record.node:
            self._already_bound(record, machine)
        elif record.binding:
            self._placed_twice(record, machine)
        elif not record.schedulable or record.waits_for:
            self._settlement.report(uid, machine, "the pod must not be scheduled now", retry=False)
        elif machine not in self._machines:
            self._settlement.report(uid, machine, f"node {machine} is gone", retry=True)
            # Whatever the solver made of the task when the machine went: it is pending.
            self._tasks.doubt(record)
        else:
            self._tasks.move(record, binding=machine)
            if delta.depends_on:
                self._bind_behind(record, delta.depends_on, staying)
            else:
                self._settlement.nominate(record, "")
                self._bind(record)

    def _bind_behind(self, record: PodRecord, leaders: Sequence[str], staying: set[str]) -> None:
        """Bind a pod that leans on others, which must not be among those that stay where they are."""
        stays = next((leader for leader in leaders if leader in staying), None)
        if stays is not None:
            self._settlement.fail(record, f"pod {stays} is not where it should make way", retry=True)
            return
        self._bind_after(record, [leader for leader in leaders if self._is_unsettled(leader)])

    def _take_back(self, record: PodRecord) -> None:
        """A pod that waits for others gets another place, or need not wait for its own any more."""
        self._dependencies.drop(record.task.uid)
        self._settlement.nominate(record, "")
        self._tasks.move(record, binding="")

    def _bind_after(self, record: PodRecord, leaders: Sequence[str]) -> None:
        """Bind a pod once ``leaders`` are bound, or gone if they have to make way.

        One of them whose binding has failed already will not be bound.
        """
        known = [each for uid in leaders if (each := self._tasks.get(uid)) is not None]
        going = [each for each in known if self._evictions.is_going(each)]
        lost = [each for each in known if not each.in_flight and not self._evictions.is_going(each)]
        self._settlement.nominate(record, record.binding if going and not lost else "")
        if lost:
            self._settlement.fail(record, f"depends on {lost[0].task.name}, which was not bound", retry=True)
        elif leaders:
            self._dependencies.hold(record.task.uid, leaders)
            if going:
                self._tell_patience(record, going)
        else:
            self._bind(record)

    def _tell_patience(self, record: PodRecord, going: Sequence[PodRecord]) -> None:
        """Say what a pod that has its node waits for."""
        names = sorted(each.task.name for each in going)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        message = f"waits on node {record.binding} until {', '.join(names[:_NAMED])}{more} left it"
        said = self._announcements.waiting_for(record, message)
        if said is not None:
            self._actions.append(said)

    def _bind(self, record: PodRecord) -> None:
        """Bind a pod, once its claims are bound. What else its binding waits for is settled."""
        uid = record.task.uid
        problem = self._volumes.begin(uid, record.binding, self._clock())
        if problem:
            self._settlement.fail(record, problem, retry=True)
        elif not self._volumes.is_under_way(uid):
            self._actions.append(Bind(record.ref, record.binding))

    def write_claim(self, write: ClaimWrite) -> None:
        """Have something written that begins the binding of a claim."""
        self._actions.append(WriteClaim(write))

    def volumes_settled(self, record: PodRecord, reason: str) -> None:
        """The claims of a pod have been bound, or, with a ``reason``, will not be."""
        if not record.in_flight:
            return
        if not reason:
            self._actions.append(Bind(record.ref, record.binding))
            return
        _log.info('volumes not bound pod=%s node=%s reason="%s"', record.ref, record.binding, reason)
        self._settlement.fail(record, reason, retry=True)
        self.announce(record, f"volumes could not be bound: {reason}")

    def _already_bound(self, record: PodRecord, machine: str) -> None:
        if record.node == machine:
            self._settlement.confirm(record)
        else:
            # The event that says where it runs follows the report and overrides it.
            self._settlement.report(
                record.task.uid, machine, f"already assigned to node {record.node}", retry=False
            )

    def _placed_twice(self, record: PodRecord, machine: str) -> None:
        """Keep to the binding that is under way or done; if the solver chose otherwise now, correct it."""
        if machine != record.binding or record.confirmed:
            self._tasks.doubt(record)

    def _is_unsettled(self, uid: str) -> bool:
        record = self._tasks.get(uid)
        if record is None:
            return False
        return self._evictions.is_going(record) or (not record.node and not record.confirmed)

    def refusal(self, uid: str, node: str) -> str:
        """Return why a binding that is under way must not be posted now, or "".

        It is counted on its node already. A refused one gives its place back as soon as its outcome is taken,
        so that of several that no longer fit together only as many are refused as have to be.
        """
        record = self._tasks.get(uid)
        if record is not None and not record.place:
            return "it has been given up"
        if record is None or record.binding != node:
            # Whatever is wrong with it is not the node's doing; the API server knows.
            return ""
        return self._fitness.refusal(record.task.task_class, node)

    # --- outcomes ------------------------------------------------------------------------------------------

    def binding_ended(self, outcome: BindOutcome) -> None:
        """Take the outcome of a binding."""
        uid = outcome.request.uid
        record = self._tasks.get(uid)
        if record is None or record.binding != outcome.request.node:
            return
        if outcome.result is BindResult.BOUND:
            record.confirmed = True
            self._settlement.confirm(record)
            self._actions.append(AnnounceScheduled(record.ref, record.binding))
            self._release(uid)
        else:
            _log.debug(
                'not bound pod=%s node=%s reason="%s"', record.task.name, record.binding, outcome.reason
            )
            again = outcome.result in (BindResult.FAILED, BindResult.WITHHELD)
            self._settlement.fail(record, outcome.reason, retry=again)

    def eviction_ended(self, outcome: EvictionOutcome) -> None:
        """Take what has become of an eviction. One that was accepted is over when the pod is gone."""
        uid = outcome.request.uid
        record = self._tasks.get(uid)
        if not outcome.refusal:
            # The pod may be gone before the answer is there.
            if not outcome.gone:
                self._actions.append(AnnouncePreempted(outcome.request.pod, outcome.request.message))
            return
        if record is None:
            return
        _log.info('not evicted pod=%s reason="%s"', record.task.name, outcome.refusal)
        self._evictions.end(uid)
        if not record.leaving:
            self._settlement.report(uid, outcome.request.node, outcome.refusal, retry=True)
            reason = f"pod {record.task.name} was not evicted: {outcome.refusal}"
            self._settlement.fail_followers(uid, reason)

    def ended(self, uid: str) -> None:
        """A pod is gone: it holds back nobody."""
        self._evictions.end(uid)
        self._release(uid)

    def recall(self, uids: Iterable[str], reason: str) -> None:
        """The solver has given up the places of these pods: do not bind those that are not bound yet.

        A binding that is on its way may succeed nevertheless; the watch tells then, as of any other pod.
        """
        for uid in uids:
            record = self._tasks.get(uid)
            if record is not None and record.in_flight and not record.node:
                self._settlement.fail(record, reason, retry=True)

    def node_gone(self, node: str) -> None:
        """A node is gone: nothing is to be waited for on it."""
        for record in self._tasks.on_node(node):
            if record.in_flight and self._dependencies.holds(record.task.uid):
                self._settlement.fail(record, f"node {node} is gone", retry=True)

    def _release(self, uid: str) -> None:
        for follower in self._dependencies.met(uid):
            record = self._tasks.get(follower)
            if record is not None and record.in_flight:
                self._bind(record)
