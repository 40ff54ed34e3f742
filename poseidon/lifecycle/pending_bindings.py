"""Binds placed pods as soon as each has nothing left to wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from poseidon.devices.state import DeviceState
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.lifecycle.actions import Action, Bind
from poseidon.lifecycle.bind_check import Absent
from poseidon.lifecycle.failed_scheduling import PendingReasons
from poseidon.lifecycle.kept_places import NominationRecords
from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, Event, Phase, PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.volumes.state import VolumeState
from protos.firmament.v1 import scheduler_pb2 as pb

_NAMED = 3
"""How many of the pods that one waits for are named."""


class Dependencies:
    """Holds tasks back until all tasks that they depend on are bound or gone."""

    def __init__(self) -> None:
        self._unmet: dict[str, set[str]] = {}
        self._dependents: dict[str, list[str]] = {}

    def hold(self, uid: str, on: Iterable[str]) -> None:
        """Hold a task back until each task in ``on`` (not empty) is bound or gone."""
        self._unmet[uid] = set(on)
        for other in self._unmet[uid]:
            self._dependents.setdefault(other, []).append(uid)

    def holds(self, uid: str) -> bool:
        """Return whether a task is held back."""
        return uid in self._unmet

    def drop(self, uid: str) -> None:
        """Forget a task: it is neither held back any more nor to be released."""
        self._unmet.pop(uid, None)

    def note_met(self, uid: str) -> list[str]:
        """Record that a task is bound, or gone; return the held tasks that may go on now."""
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
        """Record that a task was not bound; return the tasks that were held for it, which are held no longer."""
        lost = []
        for dependent in self._dependents.pop(uid, ()):
            if uid in self._unmet.get(dependent, ()):
                del self._unmet[dependent]
                lost.append(dependent)
        return lost


@dataclass(slots=True, eq=False, repr=False)
class PendingBindings:
    """Binds placed pods once they have nothing left to wait for, and reports the outcomes to the solver.

    If other pods must leave the place, the pod is bound once they are gone; until then its status names the
    node. If it depends on other pods, it is bound after them. Its claims are bound first; meanwhile its
    status names the node, as with kube-scheduler (KEP-5278). So no autoscaler removes the node as unused, and
    the pod keeps its place if it has to be bound again.
    """

    tasks: PodRecords
    """The pods for the solver."""
    volumes: VolumeState
    """Binds the claims of pods."""
    devices: DeviceState
    """Has claims of devices written."""
    pending_reasons: PendingReasons
    """Says why pods stay pending."""
    nominations: NominationRecords
    """The nodes that pods' statuses name."""
    actions: list[Action]
    """Receives the actions to carry out."""
    clock: Callable[[], float]
    """Monotonic seconds."""
    _reports: list[pb.BindingReport] = field(default_factory=list, init=False)
    """Reports for the solver, not taken yet."""
    dependencies: Dependencies = field(default_factory=Dependencies, init=False)
    """Which pods must be bound before others."""

    def absent(self, record: PodRecord) -> Absent:
        """Return the other pods that are counted on a pod's node although they use nothing there now or when it
        arrives.

        A pod that leaves the node uses its room until it is gone; a pod that waits for that uses it only
        then. Less important waiting pods must give way to this one.
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
        """Bind a pod that has just been placed, once each of ``leaders`` is bound, or is gone if it has to leave.

        The pod loses its place if a leader is among ``staying``, the pods that should have left their nodes and will
        not.
        """
        if not leaders:
            if record.nominated != record.binding:
                self.nominate(record, "")
            self._bind(record)
            return
        stays = next((leader for leader in leaders if leader in staying), None)
        if stays is not None:
            self.fail(record, f"pod {stays} is not where it should make way", retry=True)
            return
        self._bind_after(record, [leader for leader in leaders if self._is_unsettled(leader)])

    def take_back(self, record: PodRecord) -> None:
        """Give up the place of a pod that waits for others to leave, because the solver has placed it anew."""
        self.dependencies.drop(record.task.uid)
        self.nominate(record, "")
        self.tasks.move(record, Event.GIVEN_UP)

    def note_overtaken(self, record: PodRecord, placed_on: str) -> None:
        """Note that another program has bound a pod that the bridge was going to bind to ``placed_on``."""
        self.dependencies.drop(record.task.uid)
        if record.node == placed_on:
            self.confirm(record)
        elif record.awaits_report:
            # The report frees the solver's place; the event after it states the node on which the pod runs.
            self.report(record.task.uid, placed_on, f"already assigned to node {record.node}", retry=False)

    def forget_ended(self, uid: str) -> None:
        """Forget a pod that is gone: it waits for no pod, and holds back none."""
        self.dependencies.drop(uid)
        self.note_settled(uid)

    def note_settled(self, uid: str) -> None:
        """Note that a pod is bound, or gone, so that it holds back no other."""
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
        """Withdraw the places on a node that is gone from the pods that wait for others to leave it."""
        for record in self.tasks.on_node(node):
            if record.phase is Phase.WAITING:
                self.fail(record, f"node {node} is gone", retry=True)

    def _is_unsettled(self, uid: str) -> bool:
        record = self.tasks.get(uid)
        if record is None:
            return False
        return record.going or record.phase in UNPLACED | UNDER_WAY

    def _bind_after(self, record: PodRecord, leaders: Sequence[str]) -> None:
        """Bind a pod once ``leaders`` are bound, or gone if they must make way.

        A leader whose binding has already failed will not be bound.
        """
        known = [each for uid in leaders if (each := self.tasks.get(uid)) is not None]
        going = [each for each in known if each.going]
        lost = [each for each in known if not each.in_flight and not each.going]
        self.nominate(record, record.binding if going and not lost else "")
        if lost:
            self.fail(record, f"depends on {lost[0].task.name}, which was not bound", retry=True)
        elif leaders:
            self.dependencies.hold(record.task.uid, leaders)
            self.tasks.move(record, Event.WAITS)
            if going:
                self._tell_patience(record, going)
        else:
            self._bind(record)

    def _tell_patience(self, record: PodRecord, going: Sequence[PodRecord]) -> None:
        """Report for which pods a placed pod waits until they have left its node."""
        message = f"waits on node {record.binding} until {_enumerate_pods(record, going)} left it"
        self.pending_reasons.report_wait(record, message)

    def _bind(self, record: PodRecord) -> None:
        """Bind a pod that waits for no other pod, as soon as its claims are bound."""
        if not record.uses_claims:
            self.reserve_devices(record)
            return
        uid = record.task.uid
        problem = self.volumes.begin(uid, record.binding, self.clock())
        if problem:
            self.fail(record, problem, retry=True, nominated=True)
        elif uid in self.volumes.bindings:
            self.tasks.move(record, Event.CLAIMS_BEGUN)
            self.nominate(record, record.binding)
        else:
            self.reserve_devices(record)

    def reserve_devices(self, record: PodRecord) -> None:
        """Bind a pod whose volumes are bound, as soon as its claims of devices are written."""
        uid = record.task.uid
        if not record.uses_devices or uid not in self.devices:
            self.post(record)
            return
        if record.phase is Phase.PLACED:
            self.tasks.move(record, Event.CLAIMS_BEGUN)
        self.devices.begin(uid)

    # --- how placements end ----------------------------------------------------------------------------------

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
        """Tell the solver that a placement has succeeded, and remember that it was told."""
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
        """Give back the place of a pod that is not bound, and those of the pods that depend on it.

        ``nominated``: the room that victims have left stays reserved for it until it is placed anew. ``event``: what
        has happened to it.
        """
        uid, machine = record.task.uid, record.binding
        if record.awaits_report:
            self.report(uid, machine, reason, retry=retry)
        # The pod's PendingReasons were withdrawn when it was to be bound, so any later reason is new.
        record.message = ""
        if not nominated:
            self.nominate(record, "")
        if not retry:
            self.nominations.end(uid)
        self.dependencies.drop(uid)
        self.tasks.move(record, event)
        self.fail_dependents(uid, f"depends on {record.task.name}, which was not bound")

    def fail_dependents(self, uid: str, reason: str) -> None:
        """Give back the places of the pods that wait for this one."""
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
        """Stop waiting for others to leave for a pod that has lost its place."""
        self.nominate(record, "")
        self.nominations.end(record.task.uid)

    def nominate(self, record: PodRecord, node: str) -> None:
        """Write into a pod's status the node on which others are evicted for it or its claims are bound; "" for none
        any more.

        The API server itself clears the nomination of a pod that is bound.
        """
        if record.phase not in UNPLACED | UNDER_WAY:
            record.nominated = ""
            return
        if record.nominated != node:
            record.nominated = node
            if node:
                self.nominations.put(record)
            self.actions.append(NominatedNodeWrite(record.ref, node))


def _enumerate_pods(reader: PodRecord, others: Sequence[PodRecord]) -> str:
    """Return some of ``others`` by name for readers who may see ``reader``; pods of other namespaces are only
    counted.
    """
    namespace = reader.ref.namespace
    names = sorted(each.task.name for each in others if each.ref.namespace == namespace)[:_NAMED]
    more = len(others) - len(names)
    if not names:
        return "another pod" if more == 1 else f"{more} other pods"
    return ", ".join(names) + (f" and {more} more" if more else "")
