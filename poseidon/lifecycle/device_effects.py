"""Applies claims of devices to pods: to their classes, their reasons to wait, and the writes before their bindings."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from poseidon.custom_records import CustomRecords
from poseidon.devices.claims import DeviceResolution, PodDeviceClaim
from poseidon.devices.records import CLAIM_RECORD
from poseidon.devices.state import DeviceState
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.device_claim_writer import WriteEnd
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.failed_scheduling_timing import PendingReasons
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.pods.classes import ClassTable
from poseidon.pods.tasks import Task


@dataclass(slots=True, eq=False, repr=False)
class DeviceEffects:
    """The effects of changes of device claims (``devices``) on tasks, records and placements."""

    devices: DeviceState
    """Claims of devices, and which pods use them."""
    tasks: PodRecords
    """The pods for the solver."""
    records: CustomRecords
    """Records that the solver gets before tasks."""
    placements: Placements
    """Decides which bindings to post after a round."""
    pending_reasons: PendingReasons
    """Says why pods stay pending."""
    classes: ClassTable
    """Task classes of the pods."""
    actions: list[Action]
    """Receives the actions to carry out."""
    quarantine: Quarantine
    """Keeps objects that could not be handled."""
    in_use: bool = field(default=False, init=False)
    """Whether any pod has used claims of devices.

    Until some pod uses devices, changes of pods and bindings need no work in this module.
    """

    def add_claim_needs(
        self, claims: tuple[PodDeviceClaim, ...], task: Task, place: str
    ) -> tuple[Task, DeviceResolution]:
        """Return the task of a pod with the requests of its claims, and how the claims have been resolved."""
        self.in_use = True
        self.tasks.devices = self.devices
        resolution = self.devices.put_pod(task.uid, task.name, claims, place)
        return self._add_needs(task, resolution), resolution

    def note(self, record: PodRecord, resolution: DeviceResolution) -> None:
        """Note why a pod's claims keep the pod from being placed, if they do."""
        record.uses_devices = True
        self.tasks.hold(record, devices=resolution.waits)

    def apply(self) -> None:
        """Update tasks and placements after claims, or the nodes of pods, have changed."""
        devices = self.devices
        if not devices.has_news:
            return
        for uid, reason in devices.take_settled().items():
            record = self.tasks.get(uid)
            if record is not None:
                with self.quarantine.attempt("claims of devices written", uid, name=record.task.name):
                    self.placements.devices_settled(record, reason)
        for uid, resolution in devices.take_affected():
            record = self.tasks.get(uid)
            if record is not None:
                with self.quarantine.attempt("needs of devices", uid, name=record.task.name):
                    self._apply(record, resolution)
        for key, payload in devices.take_records():
            self.records.set_record(CLAIM_RECORD, key, payload)
        self.actions += devices.take_writes()

    def note_written(self, end: WriteEnd) -> None:
        """Note the outcome of a write to a claim."""
        self.devices.note_written(end)
        self.apply()

    def expire(self) -> None:
        """Give up writes, and waits for drivers, that have taken too long."""
        if self.in_use:
            self.devices.expire()
            self.apply()

    def _apply(self, record: PodRecord, resolution: DeviceResolution) -> None:
        record.task = self._add_needs(record.task, resolution)
        self.note(record, resolution)
        self.tasks.mark(record.task.uid)
        self.pending_reasons.consider_wait(record)

    def _add_needs(self, task: Task, resolution: DeviceResolution) -> Task:
        traits = self.classes.set_devices(task.traits, resolution.needs)
        return task if traits is task.traits else replace(task, traits=traits)
