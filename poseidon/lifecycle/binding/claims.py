"""What claims mean for the pods that the bridge knows: classes, waiting, and binding them before their pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from poseidon.volumes.claims import claims_of
from poseidon.volumes.resolution import NOTHING
from poseidon.volumes.state import VolumeState, ranked

if TYPE_CHECKING:
    from collections.abc import Callable

    from poseidon.kube.api.core import Pod
    from poseidon.kube.watch.quarantine import Quarantine
    from poseidon.kube.write.claim_writer import ClaimWrite
    from poseidon.lifecycle.binding.placements import Placements
    from poseidon.lifecycle.pods import Tasks
    from poseidon.lifecycle.records import PodRecord
    from poseidon.nodes.machines import Machines
    from poseidon.pods.classes import ClassTable
    from poseidon.pods.tasks import Task
    from poseidon.volumes.resolution import Resolution


class Storage:
    """Applies what follows from ``volumes`` to tasks, machines and placements. ``clock`` is monotonic."""

    def __init__(
        self,
        volumes: VolumeState,
        tasks: Tasks,
        machines: Machines,
        placements: Placements,
        classes: ClassTable,
        clock: Callable[[], float],
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self._volumes = volumes
        self._tasks = tasks
        self._machines = machines
        self._placements = placements
        self._classes = classes
        self._clock = clock

    def translated(self, pod: Pod, task: Task, place: str) -> tuple[Task, Resolution]:
        """Return the task of a pod with what its claims ask for, and what they mean besides."""
        claims = claims_of(pod)
        if not claims:
            return task, NOTHING
        rank = ranked(task.priority, task.created, task.uid)
        resolution = self._volumes.put_pod(task.uid, task.name, claims, rank, place)
        return self._with_needs(task, resolution), resolution

    def note(self, record: PodRecord, resolution: Resolution) -> None:
        """Note what keeps a pod from being placed by reason of its claims."""
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
        for write in self._volumes.take_writes():
            self._placements.write_claim(write)
        for name, amounts in self._volumes.take_offers().items():
            with self._quarantine.attempt("offers to volumes", name):
                attached, rooms = self._volumes.attached(name), self._volumes.rooms(name)
                self._machines.offer(name, amounts, attached, rooms)

    def _apply(self, record: PodRecord, resolution: Resolution) -> None:
        record.task = self._with_needs(record.task, resolution)
        self.note(record, resolution)
        self._tasks.mark(record.task.uid)
        self.announce(record)

    def announce(self, record: PodRecord) -> None:
        """Say what a pod waits for, if that is new."""
        if record.waits_for and record.schedulable:
            self._placements.announce(record, record.waits_for)

    def refused(self, write: ClaimWrite, reason: str) -> None:
        """A write has failed for good."""
        self._volumes.refused(write, reason)
        self.apply()

    def expire(self) -> None:
        """Give up claims that have taken too long to be bound."""
        self._volumes.expire(self._clock())
        self.apply()

    def _with_needs(self, task: Task, resolution: Resolution) -> Task:
        traits = self._classes.with_needs(task.traits, resolution.needs)
        return task if traits is task.traits else replace(task, traits=traits)
