"""Binds each placed pod once its victims have left, and the claims and pods on which it depends are bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from poseidon.devices.state import DeviceState
from poseidon.lifecycle.actions import Action, Bind
from poseidon.lifecycle.bind_check import Absent
from poseidon.lifecycle.failed_scheduling_timing import PendingReasons
from poseidon.lifecycle.nominated_node_names import Nominations
from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, Event, Phase, PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.volumes.state import VolumeState
from protos.firmament.v1 import scheduler_pb2 as pb

_NAMED = 3
"""Most pods that a message about waiting names."""


class Dependencies:
    """The tasks that are held back until all tasks that they depend on are bound or deleted."""

    def __init__(self) -> None:
        self._unmet: dict[str, set[str]] = {}
        self._dependents: dict[str, list[str]] = {}

    def hold(self, uid: str, on: Iterable[str]) -> None:
        """Hold a task back until each task in ``on`` (not empty) is bound or deleted."""
        self._unmet[uid] = set(on)
        for other in self._unmet[uid]:
            self._dependents.setdefault(other, []).append(uid)

    def holds(self, uid: str) -> bool:
        """Return whether a task is held back."""
        return uid in self._unmet

    def drop(self, uid: str) -> None:
        """Remove a task that waits for its binding, so that the binding will not be released."""
        self._unmet.pop(uid, None)

    def note_met(self, uid: str) -> list[str]:
        """Record that a task is bound or deleted; return the held tasks that need not wait any longer."""
        released = []
        for dependent in self._dependents.pop(uid, ()):
            unmet = self._unmet.get(dependent)
            if unmet is not None:
                unmet.discard(uid)
                if not unmet:
                    del self._unmet[dependent]
                    released.append(dependent)
        return released

    def note_failed(self, uid: str) -> list[str]:
        """Record that a task was not bound; return the tasks whose bindings waited for it, which wait no longer."""
        lost = []
        for dependent in self._dependents.pop(uid, ()):
            if uid in self._unmet.get(dependent, ()):
                del self._unmet[dependent]
                lost.append(dependent)
        return lost


@dataclass(slots=True, eq=False, repr=False)
class PendingBindings:
    """The placed pods, which are bound once they need not wait any longer; the solver gets the outcomes.

    If victims must leave the node, the pod is bound once they are deleted. If the pod depends on other pods, it is
    bound after them. The pod's claims are bound before the pod. While victims leave or claims are bound, the pod's
    status names the node, as with kube-scheduler (KEP-5278). No autoscaler therefore removes the node as unused, and
    the pod keeps its place if it has to be bound again.
    """

    tasks: PodRecords
    """The pods for the solver."""
    volumes: VolumeState
    """Binds the claims of pods."""
    devices: DeviceState
    """Asks for the writes to claims of devices."""
    pending_reasons: PendingReasons
    """Says why pods stay pending."""
    nominations: Nominations
    """Sets the nodes that pods' statuses name."""
    actions: list[Action]
    """Receives the actions to carry out."""
    clock: Callable[[], float]
    """Monotonic seconds."""
    _reports: list[pb.BindingReport] = field(default_factory=list, init=False)
    """Reports for the solver that have not been taken yet."""
    dependencies: Dependencies = field(default_factory=Dependencies, init=False)
    """Which pods must be bound before others."""

    def absent(self, record: PodRecord) -> Absent:
        """Return the pods that are counted on a pod's node but do not use it now, or when the pod arrives.

        A leaving pod uses its capacity until it is deleted; a pod that waits until then uses its capacity only
        afterwards. The capacity of waiting pods of lower priority counts as free for this pod.
        """
        now, later = [], []
        for other in self.tasks.on_node(record.binding):
            number, waits = other.task.task_class, other.phase is Phase.WAITING
            if waits:
                now.append(number)
            if other.going or (waits and other.task.priority < record.task.priority):
                later.append(number)
        return Absent(tuple(now), tuple(later))

    def begin(self, record: PodRecord, leaders: Sequence[str], staying: Iterable[str]) -> None:
        """Bind a newly placed pod once each of ``leaders`` is bound or, if it is a victim, deleted.

        The pod loses its place if a leader is among ``staying``: victims that will not be evicted.
        """
        if not leaders:
            if record.nominated and record.nominated != record.binding:
                self.nominations.nominate(record, "")
            self._bind(record)
            return
        stays = next((leader for leader in leaders if leader in staying), None)
        if stays is not None:
            self.fail(record, f"pod {stays} is not where it should make way", retry=True)
            return
        self._bind_after(record, [leader for leader in leaders if self._is_unsettled(leader)])

    def take_back(self, record: PodRecord) -> None:
        """Give up the place of a pod that waits for victims to leave, because the solver has placed the pod anew."""
        self.dependencies.drop(record.task.uid)
        self.nominations.nominate(record, "")
        self.tasks.move(record, Event.GIVEN_UP)

    def note_overtaken(self, record: PodRecord, placed_on: str) -> None:
        """Note that another program has bound a pod that the bridge wanted to bind to ``placed_on``."""
        self.dependencies.drop(record.task.uid)
        if record.node == placed_on:
            self.confirm(record)
        elif record.awaits_report:
            # The report frees the place in the solver; the event after the report states the node on which the pod
            # runs.
            self.report(record.task.uid, placed_on, f"already assigned to node {record.node}", retry=False)

    def forget_ended(self, uid: str) -> None:
        """Remove a deleted pod, for which no pod has to wait any more."""
        self.dependencies.drop(uid)
        self.note_settled(uid)

    def note_settled(self, uid: str) -> None:
        """Note that a pod is bound or deleted, and bind the pods that waited only for it."""
        for dependent in self.dependencies.note_met(uid):
            record = self.tasks.get(dependent)
            if record is not None and record.phase is Phase.WAITING:
                self.tasks.move(record, Event.RELEASED)
                self._bind(record)

    def post(self, record: PodRecord) -> None:
        """Post the binding of a pod whose claims are bound and which waits for no other pod."""
        self.tasks.move(record, Event.POSTED)
        self.actions.append(Bind(record.ref, record.binding, record.said_here))

    def node_gone(self, node: str) -> None:
        """Take their places from pods that wait for victims to leave a node, because the node has been deleted."""
        for record in self.tasks.on_node(node):
            if record.phase is Phase.WAITING:
                self.fail(record, f"node {node} is gone", retry=True)

    def _is_unsettled(self, uid: str) -> bool:
        record = self.tasks.get(uid)
        if record is None:
            return False
        return record.going or record.phase in UNPLACED | UNDER_WAY

    def _bind_after(self, record: PodRecord, leaders: Sequence[str]) -> None:
        """Bind a pod once ``leaders`` are bound or, if they are victims, deleted.

        If the binding of a leader has already failed, the pod loses its place.
        """
        known = [each for uid in leaders if (each := self.tasks.get(uid)) is not None]
        going = [each for each in known if each.going]
        lost = [each for each in known if not each.in_flight and not each.going]
        self.nominations.nominate(record, record.binding if going and not lost else "")
        if lost:
            self.fail(record, f"depends on {lost[0].task.name}, which was not bound", retry=True)
        elif leaders:
            self.dependencies.hold(record.task.uid, leaders)
            self.tasks.move(record, Event.WAITS)
            if going:
                self._report_awaited_pods(record, going)
        else:
            self._bind(record)

    def _report_awaited_pods(self, record: PodRecord, going: Sequence[PodRecord]) -> None:
        """Report which pods must leave the node of a placed pod before it is bound."""
        message = f"waits on node {record.binding} until {_enumerate_pods(record, going)} left it"
        self.pending_reasons.report_wait(record, message)

    def _bind(self, record: PodRecord) -> None:
        """Bind the claims of a pod that waits for no other pod, then the pod."""
        if not record.uses_claims:
            self.reserve_devices(record)
            return
        uid = record.task.uid
        problem = self.volumes.begin(uid, record.binding, self.clock())
        if problem:
            self.fail(record, problem, retry=True, nominated=True)
        elif uid in self.volumes.bindings:
            self.tasks.move(record, Event.CLAIMS_BEGUN)
            self.nominations.nominate(record, record.binding)
        else:
            self.reserve_devices(record)

    def reserve_devices(self, record: PodRecord) -> None:
        """Ask for the writes to the device claims of a pod whose volumes are bound; bind the pod after them."""
        uid = record.task.uid
        if not record.uses_devices or uid not in self.devices:
            self.post(record)
            return
        if record.phase is Phase.PLACED:
            self.tasks.move(record, Event.CLAIMS_BEGUN)
        self.devices.begin(uid)

    # --- ends of placements ------------------------------------------------------------------------------

    @property
    def has_reports(self) -> bool:
        """Whether ``take_reports`` returns anything."""
        return bool(self._reports)

    def take_reports(self) -> list[pb.BindingReport]:
        """Return the reports for the solver, once."""
        reports, self._reports = self._reports, []
        return reports

    def forget_reports(self) -> None:
        """Drop the reports that the session has not taken yet."""
        self._reports.clear()

    def confirm(self, record: PodRecord) -> None:
        """Tell the solver that a placement has succeeded, and record that the solver has been told."""
        uid = record.task.uid
        if uid in self.nominations.nominated:
            self.nominations.end(uid)
        if record.sent is not None and record.awaits_report:
            place = record.place
            self._reports.append(pb.BindingReport(task=uid, machine=place, bound=True))
            record.sent = record.sent._replace(machine=place)
        self.tasks.touch(uid)

    def fail(
        self,
        record: PodRecord,
        reason: str,
        *,
        retry: bool,
        nominated: bool = False,
        event: Event = Event.GIVEN_UP,
    ) -> None:
        """Give up the place of a pod that will not be bound, and the places of pods that depend on it.

        ``nominated``: capacity that victims have left stays reserved for the pod until it is placed again. ``event``:
        the step of the pod's lifecycle.
        """
        uid, machine = record.task.uid, record.binding
        if record.awaits_report:
            self.report(uid, machine, reason, retry=retry)
        # The pod's reported reason was withdrawn when it was to be bound, so any later reason is new.
        record.message = ""
        if not nominated:
            self.nominations.nominate(record, "")
        if not retry:
            self.nominations.end(uid)
        self.dependencies.drop(uid)
        self.tasks.move(record, event)
        self.fail_dependents(uid, f"depends on {record.task.name}, which was not bound")

    def fail_dependents(self, uid: str, reason: str) -> None:
        """Give up the places of the pods that wait for this pod."""
        for dependent in self.dependencies.note_failed(uid):
            held = self.tasks.get(dependent)
            if held is not None and held.in_flight:
                self.fail(held, reason, retry=True)

    def report(self, uid: str, machine: str, reason: str, *, retry: bool) -> None:
        """Tell the solver that a delta was not carried out, and whether to ``retry`` it."""
        self._reports.append(
            pb.BindingReport(task=uid, machine=machine, bound=False, reason=reason, retry=retry)
        )

    def stop_waiting(self, record: PodRecord) -> None:
        """End the nomination of a pod that has lost its place, so that its victims' capacity is not reserved for it."""
        self.nominations.nominate(record, "")
        self.nominations.end(record.task.uid)


def _enumerate_pods(reader: PodRecord, others: Sequence[PodRecord]) -> str:
    """Return a text that names some of ``others``, and counts pods of other namespaces than ``reader``'s."""
    namespace = reader.ref.namespace
    names = sorted(each.task.name for each in others if each.ref.namespace == namespace)[:_NAMED]
    more = len(others) - len(names)
    if not names:
        return "another pod" if more == 1 else f"{more} other pods"
    return ", ".join(names) + (f" and {more} more" if more else "")
