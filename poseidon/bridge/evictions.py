"""Pods that have to make way, from the solver's delta until they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.bridge.actions import Action, Evict, WithdrawEviction
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.bridge.records import PodRecord
    from poseidon.bridge.tasks import Tasks


class Evictions:
    """Remembers the pods whose evictions are under way, until they are gone or stay after all."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._under_way: set[str] = set()

    def __len__(self) -> int:
        return len(self._under_way)

    def is_going(self, record: PodRecord) -> bool:
        """Whether a pod leaves its node, by eviction or because somebody else has deleted it."""
        return record.leaving or record.task.uid in self._under_way

    def begin_all(self, result: pb.RoundResult) -> tuple[list[Action], list[tuple[pb.Delta, str]]]:
        """Begin and withdraw evictions as a round says; returns what has to be done for that.

        Also returns the deltas about pods that cannot be evicted, and why: those pods stay.
        """
        actions: list[Action] = []
        victims = []
        for delta in [each for each in result.deltas if each.kind == pb.Delta.PREEMPT]:
            if delta.withdrawn:
                withdrawal = self.withdraw(delta.task)
                actions += [withdrawal] if withdrawal is not None else []
            else:
                victims.append(delta)
        messages = self.messages(result) if victims else {}
        refused = []
        for delta in victims:
            problem = self.problem(delta)
            if problem:
                refused.append((delta, problem))
                continue
            action = self.begin(delta, messages[delta.task])
            actions += [action] if action is not None else []
        return actions, refused

    def problem(self, delta: pb.Delta) -> str:
        """Return why a pod cannot be evicted from where the solver believes it, or "". One that is gone can."""
        record = self._tasks.get(delta.task)
        if record is None:
            return ""
        if record.in_flight and not record.node:
            return f"the pod is being bound to {record.binding}"
        return "" if record.place == delta.machine else f"the pod is on node {record.place or '(none)'}"

    def messages(self, result: pb.RoundResult) -> dict[str, str]:
        """Return why each victim of a round has to go, by uid: for whom, or because its gang was given up."""
        victims = {
            delta.task: delta.machine
            for delta in result.deltas
            if delta.kind == pb.Delta.PREEMPT and not delta.withdrawn
        }
        given_up = {gang.job: gang.message for gang in result.gangs if gang.state == pb.GangState.FAILED}
        found = {}
        for uid, node in victims.items():
            record = self._tasks.get(uid)
            why = given_up.get(record.task.job, "") if record is not None else ""
            found[uid] = f"Evicted from node {node}" + (f": {why}" if why else "")
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE:
                for leader in delta.depends_on:
                    if leader in victims:
                        found[leader] = f"Preempted by pod {self._name(delta.task)} on node {victims[leader]}"
        return found

    def _name(self, uid: str) -> str:
        record = self._tasks.get(uid)
        return record.task.name if record is not None else uid

    def begin(self, delta: pb.Delta, message: str) -> Evict | None:
        """Begin an eviction without a problem; None where nothing is left to do: it goes, or has gone, already."""
        record = self._tasks.get(delta.task)
        if record is None or self.is_going(record):
            return None
        self._under_way.add(delta.task)
        return Evict(record.ref, delta.machine, delta.beyond_budget, message)

    def withdraw(self, uid: str) -> WithdrawEviction | None:
        """Let a pod stay if its eviction has not been carried out; None where none is under way."""
        return WithdrawEviction(uid) if uid in self._under_way else None

    def end(self, uid: str) -> None:
        """The pod is gone, or will not be evicted after all."""
        self._under_way.discard(uid)
