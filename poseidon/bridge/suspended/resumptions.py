"""Resumes suspended objects in queues once there are places for all of their pods, and suspends them again.

A suspended object has no pods. *Placeholders* wait in place of the object's pods: tasks like any others, made from
the object's templates. Once the placeholders' gang has places, one patch resumes the object. The placeholders hold the
places until the object's pods exist and take them. If pods of the object must be evicted, the object is suspended.

Only memory holds the state of this module. After a restart, missing pods of resumed objects get placeholders again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from poseidon.bridge.suspended.placeholders import AdmissionStage, Placeholders, PodTaker, WorkloadAdmission
from poseidon.bridge.suspended.workloads import Workload, reduce_spec
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.kube.write.suspension_writer import SuspensionEnd, SuspensionWrite
from poseidon.lifecycle.actions import (
    Action,
    AnnounceGroup,
    AnnouncePreempted,
    AnnounceScheduled,
    AnnounceUnschedulable,
    Bind,
    Evict,
)
from poseidon.lifecycle.failed_scheduling_timing import reasons_of
from poseidon.lifecycle.phases import IN_FLIGHT, Event, Phase, PodRecord
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.nodes.machines import Machines
from poseidon.pod_groups.groups import Groups
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.owners import OwnerKey
from poseidon.queues.queue_names import GANG_KINDS

HELD_SECONDS = 300.0
"""Seconds for which placeholders hold the places of a resumed object's pods: Kueue's default wait for pods."""

_ANSWER_SECONDS = 10.0
"""Seconds within which the watch should show the change that made a write fail."""

EXPLAIN_AFTER_SECONDS = 30.0
"""Seconds for which an object waits before an event says why: most objects are resumed sooner."""

_MAKING_WAY = "waits until pods that make way for it have left their nodes"

_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0
"""First and longest pause in seconds before an object is resumed again, if its pods were not created."""

_ABOUT_PODS = (Bind, AnnounceScheduled, AnnounceUnschedulable, AnnouncePreempted, NominatedNodeWrite)


class Resumptions:
    """The suspended objects in queues, which are resumed once their gangs have places, and suspended again.

    ``connect`` must be called before the first object. ``queues`` knows which pods each owner has. ``clock`` is
    monotonic.
    """

    def __init__(
        self,
        tasks: PodRecords,
        placements: Placements,
        machines: Machines,
        groups: Groups,
        queues: KnownQueues,
        clock: Callable[[], float],
    ) -> None:
        self._tasks = tasks
        self._placements = placements
        self._machines = machines
        self._groups = groups
        self._queues = queues
        self._clock = clock
        self._placeholders = Placeholders(tasks, queues)
        self.limit_ranges = self._placeholders.limit_ranges
        """The LimitRanges that the API server will apply to pods."""
        self._entries: dict[str, WorkloadAdmission] = {}
        self._by_key: dict[OwnerKey, str] = {}
        self._actions: list[Action] = []
        self._ready: dict[str, None] = {}

    def connect(self, take_pods: PodTaker, is_ours: Callable[[str], bool]) -> None:
        """Pass placeholders to ``take_pods``; ``is_ours``: whether a scheduler's name stands for this program."""
        self._placeholders.take_pods, self._placeholders.is_ours = take_pods, is_ours

    # --- changes of objects --------------------------------------------------------------------------------

    def take_workload(self, uid: str, found: Workload | None) -> None:
        """Store an object's present state; None: the object has been deleted, or is in no queue any more."""
        entry = self._entries.get(uid)
        if found is None or found.ended or self._is_part(found):
            if entry is not None:
                self._forget(entry)
            return
        if entry is None:
            stage = AdmissionStage.WAITING if found.suspended else AdmissionStage.RUNNING
            entry = self._entries[uid] = WorkloadAdmission(found, stage, self._clock())
            self._by_key[entry.key] = uid
            self._fill(entry)
            return
        if 0 < found.generation <= entry.written and found.suspended is (
            entry.stage is AdmissionStage.RUNNING
        ):
            return  # The object's state is older than the latest write.
        former, entry.found = entry.found, found
        self._follow(entry, former)

    @property
    def holds_places(self) -> bool:
        """Whether any placeholder exists."""
        return len(self._placeholders) > 0

    def get_creation_time(self, uid: str) -> float:
        """Return when an object was created, in seconds since the epoch; 0 if that is unknown."""
        entry = self._entries.get(uid)
        return seconds(entry.found.value["metadata"]["created"]) or 0.0 if entry is not None else 0.0

    def begin(self) -> None:
        """Begin to decide about objects, once all are known: missing pods of resumed objects get placeholders."""
        for entry in [*self._entries.values()]:
            if entry.stage is AdmissionStage.WAITING:  # The pods must leave, no matter who suspended them.
                self._tasks.ask_to_leave(self._queues.list_owned(entry.key))
            stage = entry.stage_written
            if stage is AdmissionStage.RUNNING or stage is not entry.stage:
                self._enter(entry, stage)
            if stage is AdmissionStage.RUNNING:
                there = len(self._placeholders.list_pods(entry)) + len(entry.pods)
                self._add(entry, entry.found.size - there)

    def _is_part(self, found: Workload) -> bool:
        """Return whether an object belongs to another object, which is suspended and resumed as a whole."""
        return found.controller is not None and found.controller.kind in GANG_KINDS

    def _follow(self, entry: WorkloadAdmission, former: Workload) -> None:
        """Update placeholders and stage after an object has changed."""
        found, stage = entry.found, entry.stage
        entry.idle = entry.idle and found.generation == former.generation != 0
        if found.suspended and stage in (AdmissionStage.RUNNING, AdmissionStage.SUSPENDING):
            self._note_suspended(entry)
        elif found.suspended and found.generation != former.generation:
            self._placeholders.drop_placeholders(entry)  # These stand for pods before the change.
            self._enter(entry, AdmissionStage.WAITING)
            self._fill(entry)
        elif not found.suspended and stage in (AdmissionStage.WAITING, AdmissionStage.RESUMING):
            self._note_resumed(entry)
        elif not found.suspended and stage is AdmissionStage.SUSPENDING and entry.overtaken:
            self._give_up_suspending(entry, "it has changed meanwhile")
        elif stage is AdmissionStage.WAITING:
            self._fill(entry)
        elif len(entry.pods) > found.size:
            self._placeholders.drop_placeholders(entry, len(entry.pods) - found.size)

    def _enter(self, entry: WorkloadAdmission, stage: AdmissionStage) -> None:
        entry.stage, entry.since, entry.overtaken = stage, self._clock(), False

    def _fill(self, entry: WorkloadAdmission) -> None:
        """Give a suspended object placeholders, unless it has placeholders, or must wait until its pods are deleted."""
        found = entry.found
        waits = entry.idle or entry.pods or found.active or self._clock() < entry.not_before
        if entry.stage is AdmissionStage.WAITING and not waits and not self._placeholders.list_pods(entry):
            self._add(entry, found.size)

    def _add(self, entry: WorkloadAdmission, count: int) -> None:
        if problem := self._placeholders.add(entry, count):
            self._say(entry, EventReason.INVALID_SPEC, f"cannot be resumed: {problem}")

    def _forget(self, entry: WorkloadAdmission) -> None:
        self._placeholders.drop_placeholders(entry)
        del self._entries[entry.found.ref.uid]
        if self._by_key.get(entry.key) == entry.found.ref.uid:
            del self._by_key[entry.key]

    # --- real pods of resumed objects --------------------------------------------------------------------

    def take_place(self, record: PodRecord, pod: Pod) -> None:
        """Give a new pod the place of a placeholder of its owner, if one matches the pod."""
        uid = record.task.uid
        if self._placeholders.find_owner(uid) or pod.metadata.deletion_timestamp:
            return  # A pod that is being deleted is older than the placeholder.
        key = self._queues.find_workload(uid)
        entry = self._entries.get(self._by_key.get(key, "")) if key is not None else None
        if entry is None or uid in entry.taken or not entry.pods:
            return
        entry.taken.add(uid)
        found = self._placeholders.choose_placeholder(entry, pod)
        if not found:
            return
        held = self._tasks.get(found)
        node = held.place if held is not None and held.phase is Phase.BOUND else ""
        alike = reduce_spec(entry.pods[found].spec) == reduce_spec(pod.spec)
        made_for_it = bool(pod.spec.resource_claims) or any(each.ephemeral for each in pod.spec.volumes)
        if node in self._machines and alike and not made_for_it and record.phase is Phase.PENDING:
            self._tasks.move(record, Event.PLACED, node)
        self._placeholders.drop_by_uid(entry, (found,))
        if record.phase is Phase.PLACED:
            self._placements.pending.begin(record, (), ())

    # --- actions -----------------------------------------------------------------------------------------

    def sort_out(self, actions: Iterable[Action]) -> list[Action]:
        """Handle the actions about placeholders; return all others, and the writes that resume or suspend objects."""
        left = [action for action in actions if not self._takes(action)]
        for uid in [*self._ready]:
            entry = self._entries.get(uid)
            if entry is not None:
                self._resume_if_whole(entry)
        self._ready.clear()
        mine, self._actions = self._actions, []
        return left + mine

    def _takes(self, action: Action) -> bool:
        """Handle an action if it is about a placeholder or suspends an object; return whether it was handled."""
        if isinstance(action, Evict):
            return self._suspend_for(action)
        if not isinstance(action, _ABOUT_PODS):
            return False
        owner = self._placeholders.find_owner(action.pod.uid)
        if not owner:
            return "[" in action.pod.name  # Only placeholders have "[" in their names.
        entry = self._entries[owner]
        if isinstance(action, Bind):
            self._ready[owner] = None
        elif isinstance(action, AnnounceUnschedulable) and entry.stage is AdmissionStage.WAITING:
            record = self._tasks.get(action.pod.uid)
            waits = record is not None and record.phase is Phase.WAITING
            entry.unsaid_reason = _MAKING_WAY if waits else action.message
        return True

    def _say(self, entry: WorkloadAdmission, reason: EventReason, message: str) -> None:
        gist = f"{reason}: {reasons_of(message)}"
        if entry.said != gist:
            entry.said = gist
            self._actions.append(AnnounceGroup(entry.found.ref, reason, message))

    def _explain_wait(self, entry: WorkloadAdmission, now: float) -> None:
        """Write an event that says why an object waits, once it has waited ``EXPLAIN_AFTER_SECONDS``."""
        if not entry.pods:
            entry.unsaid_reason = ""  # no placeholder of the object waits any more
        elif entry.unsaid_reason and now >= entry.since + EXPLAIN_AFTER_SECONDS:
            self._say(entry, EventReason.FAILED_SCHEDULING, entry.unsaid_reason)
            entry.unsaid_reason = ""

    def _resume_if_whole(self, entry: WorkloadAdmission) -> None:
        """Resume an object if its gang has places, and if each node may still take its pod."""
        if entry.stage is AdmissionStage.RUNNING:
            self._settle_places(entry)
        if entry.stage is not AdmissionStage.WAITING:
            return
        self._placeholders.renew(entry)
        records = [record for uid in entry.pods if (record := self._tasks.get(uid)) is not None]
        placed = [record for record in records if record.phase is Phase.BINDING]
        if any(record.phase in IN_FLIGHT and record.phase is not Phase.BINDING for record in records):
            return
        if not placed or len(placed) < self._count_needed(records):
            return
        refusals = (self._placements.refusal(each.task.uid, each.binding) for each in placed)
        refusal = next(filter(None, refusals), "")
        if refusal:
            self._end_places(placed, BindResult.WITHHELD, refusal)
            return
        self._write(entry, suspended=False)

    def _count_needed(self, records: Sequence[PodRecord]) -> int:
        """Return how many placeholders need places before the object is resumed: all, or the minimum of their gang."""
        groups = [self._groups.group_of(record.task.uid) for record in records]
        if None in groups:
            return len(records)
        return min(
            len(records), max(self._groups.job(group).min_members for group in groups if group is not None)
        )

    def _write(self, entry: WorkloadAdmission, *, suspended: bool) -> None:
        found = entry.found
        self._enter(entry, AdmissionStage.SUSPENDING if suspended else AdmissionStage.RESUMING)
        entry.written = found.generation
        self._tasks.ask_to_leave(self._queues.list_owned(entry.key), leave=suspended)
        write = SuspensionWrite(found.ref, found.collection, found.field, found.generation, suspended)
        self._actions.append(write)

    def _end_places(self, records: Iterable[PodRecord], result: BindResult, reason: str = "") -> None:
        for record in records:
            request = BindRequest(*record.ref, record.binding)
            self._placements.binding_ended(BindOutcome(request, result, reason))

    def _iter_binding(self, entry: WorkloadAdmission) -> Iterator[PodRecord]:
        for uid in [*entry.pods]:
            record = self._tasks.get(uid)
            if record is not None and record.phase is Phase.BINDING:
                yield record

    def _settle_places(self, entry: WorkloadAdmission) -> None:
        """Mark the placeholders of a resumed object as bound to their nodes."""
        self._end_places(self._iter_binding(entry), BindResult.BOUND)

    def _suspend_for(self, action: Evict) -> bool:
        """Suspend an object instead of evicting one of its pods; return whether the object will be suspended."""
        uid = action.pod.uid
        owner = self._placeholders.find_owner(uid)
        if not owner:
            key = self._queues.find_workload(uid)
            owner = self._by_key.get(key, "") if key is not None else ""
        entry = self._entries.get(owner)
        if entry is None or entry.stage not in (AdmissionStage.RUNNING, AdmissionStage.SUSPENDING):
            return False
        entry.evicts.append(action)
        if entry.stage is AdmissionStage.RUNNING:
            self._say(entry, EventReason.PREEMPTED, f"suspended: {action.message}")
            self._write(entry, suspended=True)
        return True

    # --- outcomes of writes ------------------------------------------------------------------------------

    def note_written(self, end: SuspensionEnd) -> None:
        """Note the outcome of a write that suspends or resumes an object."""
        entry, write = self._entries.get(end.write.uid), end.write
        if entry is None or entry.written != write.generation:
            return
        if entry.stage is (AdmissionStage.SUSPENDING if write.suspended else AdmissionStage.RESUMING):
            if not end.refusal:
                (self._note_suspended if write.suspended else self._note_resumed)(entry)
            elif end.overtaken:
                entry.overtaken = True
            else:
                self._give_up(entry, end.refusal)

    def expire(self) -> None:
        """Give up writes and places whose time limits have passed. Call this method about every second."""
        now = self._clock()
        for entry in [*self._entries.values()]:
            if entry.stage is AdmissionStage.WAITING:
                self._placeholders.renew(entry)
                self._fill(entry)
                self._resume_if_whole(entry)
                self._explain_wait(entry, now)
            elif entry.overtaken and now >= entry.since + _ANSWER_SECONDS:
                silence = f"not shown by the API server for {_ANSWER_SECONDS:.0f} s after a write failed"
                self._give_up(entry, f"{entry.found.ref}: {silence}")
            elif entry.stage is AdmissionStage.RUNNING and entry.pods and now >= entry.since + HELD_SECONDS:
                self._give_places_back(entry, now)

    def _give_places_back(self, entry: WorkloadAdmission, now: float) -> None:
        """Remove placeholders whose pods were not created. If no pod was created at all, suspend the object again."""
        if entry.taken or self._placeholders.list_pods(entry):
            self._placeholders.drop_placeholders(entry)
            return
        entry.pause = min(max(2 * entry.pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        entry.not_before = now + entry.pause
        message = f"suspended: none of its pods came within {HELD_SECONDS:.0f} s"
        self._say(entry, EventReason.FAILED_SCHEDULING, message)
        self._write(entry, suspended=True)

    def _give_up(self, entry: WorkloadAdmission, reason: str) -> None:
        """Return an object to the stage before a write, because the write has failed for good."""
        if entry.stage is AdmissionStage.SUSPENDING:
            self._give_up_suspending(entry, reason)
            return
        self._end_places(self._iter_binding(entry), BindResult.FAILED, reason)
        self._enter(entry, AdmissionStage.WAITING)

    def _give_up_suspending(self, entry: WorkloadAdmission, reason: str) -> None:
        """Evict pods one by one, because their object cannot be suspended; placeholders keep their places."""
        evicts, entry.evicts = entry.evicts, []
        stay = {*self._queues.list_owned(entry.key)} - {action.pod.uid for action in evicts}
        self._tasks.ask_to_leave(stay, leave=False)
        self._enter(entry, AdmissionStage.RUNNING)
        for action in evicts:
            if action.pod.uid in entry.pods:
                self._placements.eviction_ended(EvictionOutcome(EvictionRequest(*action), reason))
            else:
                self._actions.append(action)

    def _note_resumed(self, entry: WorkloadAdmission) -> None:
        entry.said, entry.unsaid_reason, entry.taken = "", "", set()
        entry.found = self._as_written(entry, suspended=False)
        self._enter(entry, AdmissionStage.RUNNING)
        self._settle_places(entry)

    def _note_suspended(self, entry: WorkloadAdmission) -> None:
        """Note that an object is suspended: its pods will leave, and after that, the object waits for places again."""
        entry.evicts = []
        self._tasks.ask_to_leave(self._queues.list_owned(entry.key))
        self._placeholders.drop_placeholders(entry)
        entry.found = self._as_written(entry, suspended=True)
        self._enter(entry, AdmissionStage.WAITING)

    @staticmethod
    def _as_written(entry: WorkloadAdmission, *, suspended: bool) -> Workload:
        """Return an object with ``suspended`` set, even if the watch has not shown that write."""
        found = entry.found
        if found.suspended is suspended:
            return found
        return replace(found, suspended=suspended, generation=found.generation and found.generation + 1)
