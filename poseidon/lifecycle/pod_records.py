"""Keeps the records of pods: where each pod is, and what the solver knows of it.

Only this module changes a pod's phase, node and binding. Each step also updates the pods per node, the amounts
requested there, and the list of changed pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from poseidon.devices.state import DeviceState
from poseidon.kube.api.pods import Pod
from poseidon.lifecycle.bind_check import BindCheck, Requested
from poseidon.lifecycle.phases import UNPLACED, Event, Phase, PodRecord, SentState, Stories, next_phase
from poseidon.nodes.machines import Machines
from poseidon.pods.tasks import Task
from poseidon.volumes.state import VolumeState

_FEW = 4

_EVICTIONS = frozenset({Event.EVICTED, Event.STAYS})


class PodRecords:
    """Pod records by uid, with the changes that the current stream has not sent yet.

    The records compare the wanted state of each task with the state last sent. The messages to the solver are
    therefore the same for any order and any repetition of events. ``requested`` counts each task's amounts on the
    node where it runs or is being bound to. ``volumes`` and ``devices`` learn the nodes of pods once a pod uses
    claims; ``stories`` record each step.
    """

    def __init__(
        self,
        machines: Machines,
        requested: Requested,
        bind_check: BindCheck,
        stories: Stories,
    ) -> None:
        self._stories = stories
        self._machines = machines
        self._requested = requested
        self._bind_check = bind_check
        self.volumes: VolumeState | None = None
        self.devices: DeviceState | None = None
        self._records: dict[str, PodRecord] = {}
        self._uids: dict[str, str] = {}
        self._on_node: dict[str, dict[str, None]] = {}  # each node's pods in order of arrival
        self._changed: dict[str, None] = {}
        self._removed: dict[str, None] = {}
        self._to_resync: set[str] = set()

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[PodRecord]:
        return iter(self._records.values())

    def get(self, uid: str) -> PodRecord | None:
        """Return the record of a pod, or None."""
        return self._records.get(uid)

    def get_name(self, uid: str) -> str:
        """Return the name of a pod as ``namespace/name``; its uid if the pod has no record."""
        record = self._records.get(uid)
        return record.task.name if record is not None else uid

    def find_by_name(self, name: str) -> PodRecord | None:
        """Return the record of the pod whose name is ``namespace/name`` now, or None."""
        return self._records.get(self._uids.get(name, ""))

    def add(self, record: PodRecord, node: str) -> None:
        """Add the record of a pod that runs on ``node``, "" for none."""
        uid = record.task.uid
        record.node = node
        before = record.phase
        event = Event.SHOWN if node else _explain_held_back(record)
        record.phase = next_phase(before, event)
        self._stories.note(uid, event, before, record.phase, node)
        self._records[uid] = record
        self._uids[record.task.name] = uid
        self._changed[uid] = None
        self._occupy(uid, record.place)
        self._charge(record)

    def move(self, record: PodRecord, event: Event, node: str = "") -> None:
        """Change a pod's phase after an event, and update all that follows from it.

        ``node`` is the node on which the pod is placed (``Event.PLACED``) or shown (``Event.SHOWN``). Raises
        ``RefusedEventError``, and changes nothing, if the event cannot happen in the pod's phase.
        """
        uid, before, place = record.task.uid, record.phase, record.node or record.binding
        phase = next_phase(before, event)
        if event is Event.SHOWN:
            record.node = node
        elif event is Event.PLACED:
            record.binding = node
        if phase is Phase.PENDING:
            record.binding = ""
            phase = next_phase(phase, _explain_held_back(record))
        elif record.node and record.node != record.binding and phase is not Phase.ANSWER_DUE:
            record.binding = ""
        if event in _EVICTIONS:
            record.asked_to_leave = event is Event.EVICTED
        record.phase = phase
        now = record.node or record.binding
        if now != place:
            self._leave(uid, place)
            self._occupy(uid, now)
            if self.volumes is not None:
                self.volumes.move_pod(uid, now)
            if self.devices is not None:
                self.devices.move_pod(uid, now)
        if now != place or event is Event.SHOWN:  # The pod's requests may have changed with that event.
            self._charge(record)
        if phase is not before:
            self._stories.note(uid, event, before, phase, now)
        self._changed[uid] = None

    def ask_to_leave(self, uids: Iterable[str], *, leave: bool = True) -> None:
        """Note whether pods are to leave (``leave``) because their owner is suspended."""
        for uid in uids:
            if (record := self.get(uid)) is not None:
                record.asked_to_leave = leave

    def hold(
        self,
        record: PodRecord,
        *,
        group: str | None = None,
        queue: str | None = None,
        claims: str | None = None,
        devices: str | None = None,
        priority: str | None = None,
        fault: str | None = None,
        schedulable: bool | None = None,
    ) -> None:
        """Record the reasons that keep a pod from being placed ("" for none). Omitted arguments change nothing."""
        record.group_wait = record.group_wait if group is None else group
        record.queue_wait = record.queue_wait if queue is None else queue
        record.claims_wait = record.claims_wait if claims is None else claims
        record.devices_wait = record.devices_wait if devices is None else devices
        record.priority_wait = record.priority_wait if priority is None else priority
        record.fault = record.fault if fault is None else fault
        record.schedulable = record.schedulable if schedulable is None else schedulable
        moves = record.phase in UNPLACED and record.offered is not (record.phase is Phase.PENDING)
        if moves and record.task.uid in self._records:
            self.move(record, _explain_held_back(record))

    def mark(self, uid: str) -> None:
        """Update a task's amounts on its node, and mark it for the next comparison with the solver's knowledge."""
        self._charge(self._records[uid])
        self._changed[uid] = None

    def touch(self, uid: str) -> None:
        """Mark a task, whose place and amounts are unchanged, for the next comparison with the solver's knowledge."""
        self._changed[uid] = None

    def resync(self, record: PodRecord) -> None:
        """Send the state of a task again, even if it has no machine, because the solver's state may differ."""
        record.sent = None
        self._to_resync.add(record.task.uid)
        self.mark(record.task.uid)

    def on_node(self, node: str) -> list[PodRecord]:
        """Return the records of the pods on a node, in order of arrival."""
        return [self._records[uid] for uid in self._on_node.get(node, ())]

    def mark_moved(self) -> None:
        """Mark all tasks whose class differs from the one that the solver knows."""
        for uid, record in self._records.items():
            if record.sent is not None and record.sent.task_class != record.task.task_class:
                self._changed[uid] = None

    def mark_node(self, node: str) -> None:
        """Mark all tasks of a node that has been added or removed."""
        self._changed.update(dict.fromkeys(self._on_node.get(node, ())))

    def forget_node(self, node: str) -> None:
        """Remove the tasks on a deleted node from the solver, which would otherwise keep them for the machine's return.

        No other event would tell the solver if those tasks ended meanwhile. The tasks are sent again if the node
        returns.
        """
        for uid in self._on_node.get(node, ()):
            record = self._records[uid]
            # With machine "", the task was sent as pending, and the solver has assumed it on the machine.
            if record.sent is not None and record.sent.machine in ("", node):
                self._removed[uid] = None
                record.sent = None
            self._changed[uid] = None

    def remove(self, uid: str) -> PodRecord | None:
        """Remove a record and return it, or None if there was none."""
        record = self._records.pop(uid, None)
        if record is None:
            return None
        if self._uids.get(record.task.name) == uid:
            del self._uids[record.task.name]
        self._leave(uid, record.place)
        self._requested.drop(uid)
        self._changed.pop(uid, None)
        if record.sent is not None or uid in self._to_resync:
            self._removed[uid] = None
        return record

    def forget_sent(self) -> None:
        """Begin a new stream to a solver that has no tasks."""
        self._removed.clear()
        self._to_resync.clear()
        for record in self._records.values():
            record.sent = None
        self._changed = dict.fromkeys(self._records)

    @property
    def changed(self) -> bool:
        """Whether there may be changes to send to the solver."""
        return bool(self._changed or self._removed or self._to_resync)

    @property
    def has_news(self) -> bool:
        """Whether ``take_updates`` returns anything. If many tasks have changed, this is True without a check."""
        if self._removed or self._to_resync or len(self._changed) > _FEW:
            return True
        return any(self._is_news(self._records[uid]) for uid in self._changed)

    def take_updates(self) -> tuple[list[str], list[tuple[Task, str, bool]], list[Task]]:
        """Return the changes to send to the solver since the last call: removed, placed and pending tasks.

        The solver must remove the first tasks, given by uid, before it gets the others. A placed task comes with its
        machine, and with whether its binding is still under way.
        """
        removed = list(self._removed)
        waiting: list[Task] = []
        placed: list[tuple[Task, str, bool]] = []
        for uid in self._changed:
            record = self._records[uid]
            desired_state = self._get_desired_state(record)
            if self._report_will_do(record) or (desired_state == record.sent and uid not in self._to_resync):
                continue
            may_have_one = uid in self._to_resync or (record.sent is not None and record.sent.machine)
            if desired_state is None or (may_have_one and not desired_state.machine):
                # A solver keeps the machine of a task that is sent again, so the task must be removed first.
                removed.append(uid)
            if desired_state is not None and desired_state.machine:
                placed.append((record.task, desired_state.machine, desired_state.assumed))
            elif desired_state is not None:
                waiting.append(record.task)
            record.sent = desired_state
        self._changed.clear()
        self._removed.clear()
        self._to_resync.clear()
        return removed, placed, waiting

    def _is_news(self, record: PodRecord) -> bool:
        """Return whether the solver's knowledge of a task is out of date, and no report will correct it."""
        return not self._report_will_do(record) and self._get_desired_state(record) != record.sent

    def _get_desired_state(self, record: PodRecord) -> SentState | None:
        desired = record.get_desired_state()
        known = desired is None or not desired.machine or desired.machine in self._machines
        return desired if known else None

    @staticmethod
    def _report_will_do(record: PodRecord) -> bool:
        """Return whether the solver assumes the task on the node to which it is being bound, so a report is enough."""
        return record.in_flight and record.awaits_report and record.node in ("", record.binding)

    def _charge(self, record: PodRecord) -> None:
        task = record.task
        self._requested.put(task.uid, record.place, self._bind_check.requests(task.task_class))

    def _occupy(self, uid: str, node: str) -> None:
        if node:
            self._on_node.setdefault(node, {})[uid] = None

    def _leave(self, uid: str, node: str) -> None:
        there = self._on_node.get(node)
        if there is not None:
            there.pop(uid, None)
            if not there:
                del self._on_node[node]


def _explain_held_back(record: PodRecord) -> Event:
    return Event.OFFERED if record.offered else Event.HELD_BACK


def read_reported_reason(pod: Pod) -> str:
    """Return why a pod is unschedulable by its own condition, so that a restarted bridge does not repeat it."""
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "False" or condition.reason != "Unschedulable":
        return ""
    return condition.message
