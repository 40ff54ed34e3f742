"""What claims mean for the pods that the bridge knows: classes, waiting, and binding them before their pods."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.claim_writer import ClaimWrite
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.pending_reasons import PendingReasons
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pods import Tasks
from poseidon.nodes.machines import Machines
from poseidon.pods.classes import ClassTable
from poseidon.pods.tasks import Task
from poseidon.volumes.claims import PodClaim
from poseidon.volumes.resolution import Resolution
from poseidon.volumes.state import VolumeState, ranked


class Storage:
    """Applies what follows from ``volumes`` to tasks, machines and placements. ``clock`` is monotonic.

    ``in_use``: some pod has used claims. Before, no news of pods or their bindings concerns volumes.
    """

    def __init__(
        self,
        volumes: VolumeState,
        tasks: Tasks,
        machines: Machines,
        placements: Placements,
        pending_reasons: PendingReasons,
        classes: ClassTable,
        actions: list[Action],
        clock: Callable[[], float],
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self._volumes = volumes
        self._tasks = tasks
        self._machines = machines
        self._placements = placements
        self._pending_reasons = pending_reasons
        self._classes = classes
        self._actions = actions
        self._clock = clock
        self.in_use = False

    def translated(self, claims: tuple[PodClaim, ...], task: Task, place: str) -> tuple[Task, Resolution]:
        """Return the task of a pod with what its claims ask for, and what they mean besides."""
        self.in_use = True
        self._tasks.volumes = self._volumes
        rank = ranked(task.priority, task.created, task.uid)
        resolution = self._volumes.put_pod(task.uid, task.name, claims, rank, place)
        return self._with_needs(task, resolution), resolution

    def note(self, record: PodRecord, resolution: Resolution) -> None:
        """Note what keeps a pod from being placed by reason of its claims."""
        record.uses_claims = True
        self._tasks.hold(record, claims=resolution.message(len(self._machines)))
        record.claims_refuse = resolution.refused

    def apply(self) -> None:
        """Carry on after any change: to claims, volumes, classes, machines, or where pods are."""
        if not self._volumes.has_news:
            return
        for uid, reason in self._volumes.take_settled().items():
            record = self._tasks.get(uid)
            if record is not None:
                with self._quarantine.attempt("bindings of claims", uid, name=record.task.name):
                    self._placements.volumes_settled(record, reason)
        for uid, resolution in self._volumes.take_affected():
            record = self._tasks.get(uid)
            if record is not None:
                with self._quarantine.attempt("needs of claims", uid, name=record.task.name):
                    self._apply(record, resolution)
        self._actions += self._volumes.bindings.take_writes()
        for name, amounts in self._volumes.take_offers().items():
            with self._quarantine.attempt("offers to volumes", name):
                attached, rooms = self._volumes.attached(name), self._volumes.capacities.rooms(name)
                self._machines.offer(name, amounts, attached, rooms)

    def _apply(self, record: PodRecord, resolution: Resolution) -> None:
        record.task = self._with_needs(record.task, resolution)
        self.note(record, resolution)
        self._tasks.mark(record.task.uid)
        self._pending_reasons.consider_wait(record)

    def refused(self, write: ClaimWrite, reason: str) -> None:
        """A write has failed for good; without a reason, what it was to begin counts as done."""
        self._volumes.bindings.refused(write, reason)
        self.apply()

    def expire(self) -> None:
        """Give up claims that have taken too long to be bound."""
        self._volumes.bindings.expire(self._clock())
        self.apply()

    def _with_needs(self, task: Task, resolution: Resolution) -> Task:
        traits = self._classes.with_needs(task.traits, resolution.needs)
        return task if traits is task.traits else replace(task, traits=traits)
