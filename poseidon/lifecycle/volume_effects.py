"""Applies claims of volumes to pods: to their classes and their reasons to wait; binds claims before their pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from poseidon.kube.api.pods import PodClaim
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.volume_claim_writer import ClaimWrite
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.failed_scheduling_timing import PendingReasons
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.nodes.machines import Machines
from poseidon.pods.classes import ClassTable
from poseidon.pods.tasks import Task
from poseidon.volumes.claims import compute_rank
from poseidon.volumes.resolution import Resolution
from poseidon.volumes.state import VolumeState


@dataclass(slots=True, eq=False, repr=False)
class VolumeEffects:
    """The effects of changes of volumes and claims (``volumes``) on tasks, machines and placements."""

    volumes: VolumeState
    """Claims and volumes, and which pods use them."""
    tasks: PodRecords
    """The pods in the form that the solver gets."""
    machines: Machines
    """The nodes as machines."""
    placements: Placements
    """Decides which bindings to post after a round."""
    pending_reasons: PendingReasons
    """Says why pods stay pending."""
    classes: ClassTable
    """Task classes of the pods."""
    actions: list[Action]
    """Receives the actions to carry out."""
    clock: Callable[[], float]
    """Monotonic seconds."""
    quarantine: Quarantine
    """Keeps objects that could not be handled."""
    in_use: bool = field(default=False, init=False)
    """Whether any pod has used claims.

    Until some pod uses claims of volumes, changes of pods and bindings need no work in this module.
    """

    def add_claim_needs(
        self, claims: tuple[PodClaim, ...], task: Task, place: str
    ) -> tuple[Task, Resolution]:
        """Return the task of a pod with the needs of its claims, and how the claims have been resolved."""
        self.in_use = True
        self.tasks.volumes = self.volumes
        rank = compute_rank(task.priority, task.created, task.uid)
        resolution = self.volumes.put_pod(task.uid, task.name, claims, rank, place)
        return self._add_needs(task, resolution), resolution

    def note(self, record: PodRecord, resolution: Resolution) -> None:
        """Note why a pod's claims keep the pod from being placed, if they do."""
        record.uses_claims = True
        self.tasks.hold(record, claims=resolution.message(len(self.machines)))
        record.claims_refuse = resolution.refused

    def apply(self) -> None:
        """Update tasks, machines and placements after changes of claims, volumes, machines or the nodes of pods."""
        if not self.volumes.has_news:
            return
        for uid, reason in self.volumes.take_settled().items():
            record = self.tasks.get(uid)
            if record is not None:
                with self.quarantine.attempt("bindings of claims", uid, name=record.task.name):
                    self.placements.volumes_settled(record, reason)
        for uid, resolution in self.volumes.take_affected():
            record = self.tasks.get(uid)
            if record is not None:
                with self.quarantine.attempt("needs of claims", uid, name=record.task.name):
                    self._apply(record, resolution)
        self.actions += self.volumes.bindings.take_writes()
        for name, amounts in self.volumes.take_offers().items():
            with self.quarantine.attempt("offers to volumes", name):
                attached, rooms = self.volumes.list_attached(name), self.volumes.capacities.rooms(name)
                self.machines.offer(name, amounts, attached, rooms)

    def _apply(self, record: PodRecord, resolution: Resolution) -> None:
        record.task = self._add_needs(record.task, resolution)
        self.note(record, resolution)
        self.tasks.mark(record.task.uid)
        self.pending_reasons.consider_wait(record)

    def note_failure(self, write: ClaimWrite, reason: str) -> None:
        """Record that a write has failed for good.

        An empty ``reason`` means that the object already had the content of the write.
        """
        self.volumes.bindings.note_failure(write, reason)
        self.apply()

    def expire(self) -> None:
        """Give up claims that have taken too long to be bound."""
        self.volumes.bindings.expire(self.clock())
        self.apply()

    def _add_needs(self, task: Task, resolution: Resolution) -> Task:
        traits = self.classes.set_needs(task.traits, resolution.needs)
        return task if traits is task.traits else replace(task, traits=traits)
