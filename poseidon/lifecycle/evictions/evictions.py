"""Begins and withdraws the evictions that the solver requests, if the bridge itself sees a reason for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from poseidon.lifecycle.actions import Action, Evict, WithdrawEviction
from poseidon.lifecycle.evictions.review import EvictionReview, ProposedRound, Verdict
from poseidon.lifecycle.phases import UNDER_WAY, Event, Phase, PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.lifecycle.refused_deltas import Kind, Reason, Refusals
from protos.firmament.v1 import scheduler_pb2 as pb


@dataclass(slots=True, eq=False, repr=False)
class Evictions:
    """The evictions, begun and withdrawn by ``actions``; a pod's phase says whether it is being evicted."""

    tasks: PodRecords
    review: EvictionReview
    refusals: Refusals
    actions: list[Action]

    def begin_all(
        self, result: pb.RoundResult, can_come: Callable[[pb.Delta], bool]
    ) -> list[tuple[pb.Delta, Verdict]]:
        """Begin and withdraw the evictions of a round; return the deltas of pods that stay, and why each stays.

        ``can_come`` returns whether a placement of the round can be made.
        """
        refused: list[tuple[pb.Delta, Verdict]] = []
        victims: dict[str, pb.Delta] = {}
        for delta in [each for each in result.deltas if each.kind == pb.Delta.PREEMPT]:
            record = self.tasks.get(delta.task)
            if delta.withdrawn:
                if (
                    record is not None and record.phase is Phase.EVICTING
                ):  # The API server may not have carried out the eviction yet.
                    self.actions.append(WithdrawEviction(delta.task))
            elif record is None:
                self.refusals.note(Kind.EVICTION, Reason.GONE, delta.task, "there is no such pod")
            elif problem := _check_place(record, delta):
                refused.append((delta, problem))
            elif not record.going:
                victims[delta.task] = delta
        if victims:
            refused += self._review(result, victims, can_come, {delta.task for delta, _ in refused})
            messages = self.messages(result, victims)
            for uid, delta in victims.items():
                unit = self.review.find_unit(uid)
                self._begin(delta, messages[uid], f"{unit}, round {result.round}" if unit else "")
        for delta, verdict in refused:
            record = self.tasks.get(delta.task)
            name = record.task.name if record is not None else delta.task
            self.refusals.note(Kind.EVICTION, verdict.reason, name, verdict.words)
        return refused

    def _review(
        self,
        result: pb.RoundResult,
        victims: dict[str, pb.Delta],
        can_come: Callable[[pb.Delta], bool],
        staying: set[str],
    ) -> list[tuple[pb.Delta, Verdict]]:
        """Remove the pods that must stay from ``victims``, and return them with the reasons.

        The pods in ``staying`` stay in any case.
        """
        places, unmade = [], set(staying)
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE and can_come(delta):
                places.append(delta)
            elif delta.kind == pb.Delta.PLACE and self.tasks.get(delta.task) is not None:
                unmade.add(delta.task)
        verdicts = self.review.list_staying(ProposedRound(victims, places, frozenset(unmade)))
        return [(victims.pop(uid), verdict) for uid, verdict in verdicts.items()]

    def messages(self, result: pb.RoundResult, victims: Mapping[str, pb.Delta]) -> dict[str, str]:
        """Return messages for people by uid of the victim: for which pod it must leave, or that its gang was given up.

        A message names the other pod only if both are in one namespace; otherwise it gives only the uid, as
        kube-scheduler does.
        """
        given_up = {gang.job: gang.message for gang in result.gangs if gang.state == pb.GangState.FAILED}
        found = {}
        for uid, victim in victims.items():
            record = self.tasks.get(uid)
            why = given_up.get(record.task.job, "") if record is not None else ""
            found[uid] = f"Evicted from node {victim.machine}" + (f": {why}" if why else "")
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE:
                for leader in delta.depends_on:
                    if leader in victims:
                        preemptor = self._name_for(leader, delta.task)
                        found[leader] = f"Preempted by pod {preemptor} on node {victims[leader].machine}"
        return found

    def _name_for(self, reader: str, uid: str) -> str:
        """Return the name of a pod for people who may see the pod ``reader``; the uid if it is in another namespace."""
        record, theirs = self.tasks.get(uid), self.tasks.get(reader)
        if record is None or theirs is None or record.ref.namespace != theirs.ref.namespace:
            return uid
        return record.task.name

    def _begin(self, delta: pb.Delta, message: str, together: str) -> None:
        record = self.tasks.get(delta.task)
        assert record is not None
        self.tasks.move(record, Event.EVICTED)
        self.actions.append(Evict(record.ref, delta.machine, delta.beyond_budget, message, together))


def _check_place(record: PodRecord, delta: pb.Delta) -> Verdict | None:
    """Return why a pod cannot be evicted from the node that the solver names, None if it can."""
    if record.phase in UNDER_WAY:
        return Verdict(Reason.BEING_BOUND, f"the pod is being bound to {record.binding}")
    if record.place == delta.machine:
        return None
    return Verdict(Reason.ELSEWHERE, f"the pod is on node {record.place or '(none)'}")
