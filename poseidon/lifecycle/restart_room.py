"""Keeps the room (capacity) of pods of a restarting group on their nodes, by records for the solver.

A group that restarts comes back as new pods some seconds later: a Job of a JobSet, a leader with its workers. For as
long as the group asks (annotation ``firmament.io/keep-room-seconds``, else ``gangs.keepRoom``), the solver gives the
room to no other pod of at most the same priority. The room ends earlier if a new pod of the group gets a node, or if
the node is deleted, cordoned or not ready.

Pods that have succeeded, were evicted for other pods, are being moved, or had no node leave no room. No room is kept
if the replacement got a node before the pod was deleted, or if the pod's owner was suspended as a whole. Groups that
are a share of an owner's pods keep no room: their job's id contains the owner's uid, so pods of a new owner are in
another job.

Rooms are not stored: a restart of this process ends all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec import Struct

from poseidon.custom_records import CustomRecords
from poseidon.kube.api.event_reasons import PREEMPTION_BY_SCHEDULER, ConditionType
from poseidon.kube.api.metadata import format_time
from poseidon.kube.api.pods import Pod
from poseidon.lifecycle.phases import ON_NODE, Phase, PodRecord
from poseidon.nodes.machines import Machines
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.keep_room import get_metadata, read_keep_seconds
from poseidon.pods.classes import ClassTable
from poseidon.pods.move_annotations import parse_announced_move
from poseidon.pods.tasks import Task

RESTART_ROOM_RECORD = "RestartRoom"
"""Kind of records whose name is the uid of the pod that left, and whose payload is the room kept for its group."""

MOST_ROOMS = 5_000
"""Most pods whose rooms are kept at once; at most a fifth of them are in one namespace.

If more pods leave, no room is kept for them.
"""

_NAMESPACES = 5


class _Room(Struct):
    """The room kept for a pod that left: its task, node and namespace, and the end of the room (epoch seconds)."""

    task: Task
    node: str
    until: float
    namespace: str


class RestartRoomRecords:
    """The room (capacity) that is kept on nodes for groups that restart.

    If pod or group state a number of seconds, room is kept for that time, at most ``longest``; otherwise for
    ``default`` seconds. If ``longest`` is 0, ``default`` always applies. ``wall`` returns seconds since the epoch;
    ``records`` get the rooms. Outcomes: a room is ``taken`` by a new pod of the group on the node, or ends because
    such a pod has come ``elsewhere``, because the node is ``closed`` to new pods, or because its time has ``lapsed``.
    Beyond ``MOST_ROOMS`` rooms are ``refused``. While ``rooms`` and ``outcomes`` are empty, ``expire`` and
    ``take_outcomes`` need not be called.
    """

    def __init__(
        self,
        default: float,
        longest: float,
        groups: Groups,
        classes: ClassTable,
        machines: Machines,
        records: CustomRecords,
        wall: Callable[[], float],
    ) -> None:
        self._default, self._longest = default, longest
        self._groups = groups
        self._classes = classes
        self._machines = machines
        self._records = records
        self._wall = wall
        self._stated: dict[str, float] = {}
        self._leaves_none: set[str] = set()
        self._bound: set[str] = (
            set()
        )  # Pods that are bound but that the watch has not shown on their nodes yet count, too.
        self._leaving = _LeavingPods()
        self._of_namespace: Counter[str] = Counter()
        self.rooms: dict[str, _Room] = {}
        self._of_job: dict[str, dict[str, None]] = {}
        self.outcomes: Counter[str] = Counter()

    def note_pod(self, pod: Pod, task: Task, known: PodRecord | None) -> None:
        """Note a group's pod; ``known``: its record so far.

        A pod's annotation may state for how long the pod's room is kept. If the pod is being moved, or was evicted
        for another pod, no room is kept. If the pod has come to a node, one room of the pod's group ends.
        """
        if self._default <= 0 and self._longest <= 0:
            return
        uid, node = task.uid, pod.spec.node_name
        if node and (known is None or not known.node) and uid not in self._bound:
            self._note_arrival(task, node, was_awaited=known is not None)
        if node:
            self._bound.discard(uid)
        stated = read_keep_seconds(pod.metadata)
        if stated is None:
            self._stated.pop(uid, None)
        else:
            self._stated[uid] = stated
        if parse_announced_move(pod, self._wall())[0] or _is_preempted(pod):
            self._leaves_none.add(uid)
        else:
            self._leaves_none.discard(uid)
        if node and pod.metadata.deletion_timestamp is not None:
            self._leaving.add(uid, task.job, node)

    def note_bound(self, record: PodRecord) -> None:
        """End one room of a pod's group once the pod is bound, even before the watch shows the pod on its node.

        The solver therefore never counts both the room and the pod. Callers need this method only while ``rooms`` has
        entries.
        """
        task = record.task
        if task.job in self._of_job and record.phase is Phase.BOUND and not record.node:
            if task.uid not in self._bound:
                self._note_arrival(task, record.place, was_awaited=True)
            self._bound.add(task.uid)

    def note_departure(self, record: PodRecord, pod: Pod | None) -> None:
        """Keep the room of a group's pod that has ended (``pod``) or has been deleted (None), if room is to be kept."""
        uid, stated = record.task.uid, self._stated.pop(record.task.uid, None)
        needless = self._leaving.remove(uid) or uid in self._leaves_none
        self._leaves_none.discard(uid)
        self._bound.discard(uid)
        group = self._groups.group_of(uid)
        if group is None or group.member.share or not record.task.job:
            return
        if needless or not _leaves_room(record, pod):
            return
        seconds = self._find_seconds(group, stated)
        if seconds <= 0:
            return
        namespace = group.member.source.namespace
        if (
            len(self.rooms) >= MOST_ROOMS
            or self._of_namespace[namespace] >= (MOST_ROOMS + _NAMESPACES - 1) // _NAMESPACES
        ):
            self.outcomes["refused"] += 1
            return
        room = _Room(record.task, record.place, self._wall() + seconds, namespace)
        self.rooms[uid] = room
        self._of_namespace[namespace] += 1
        self._of_job.setdefault(record.task.job, {})[uid] = None
        self._records.set_record(RESTART_ROOM_RECORD, uid, self._describe(room, group))

    def expire(self) -> None:
        """End the rooms whose time is over, and the rooms on nodes that accept no pods now."""
        now = self._wall()
        for uid, room in [*self.rooms.items()]:
            machine = self._machines.get(room.node)
            if room.until <= now:
                self._end(uid, "lapsed")
            elif machine is None or machine.unschedulable or machine.not_ready:
                self._end(uid, "closed")

    def take_outcomes(self) -> Counter[str]:
        """Return the numbers of ended rooms by outcome since the last call."""
        outcomes, self.outcomes = self.outcomes, Counter()
        return outcomes

    def _note_arrival(self, task: Task, node: str, *, was_awaited: bool) -> None:
        """End one room of a job, because a new pod of the job has come to a node.

        The function ends the room of an equal pod on this node, otherwise of any pod on this node, otherwise of an
        equal pod on another node. If the job has no room, a pod of the job that is about to leave will leave none;
        ``was_awaited``: the new pod was known before, so it may replace that pod.
        """
        uids = self._of_job.get(task.job)
        if not uids:
            if was_awaited:
                self._leaving.replace_one(task.job, node)
            return

        def find_distance(uid: str) -> tuple[bool, bool]:
            room = self.rooms[uid]
            return room.node != node, room.task.traits.template is not task.traits.template

        uid = min(uids, key=find_distance)
        self._end(uid, "taken" if self.rooms[uid].node == node else "elsewhere")

    def _find_seconds(self, group: Group, stated: float | None) -> float:
        """Return the seconds for which a pod's room is kept; ``stated``: seconds stated by the pod itself, or None."""
        if self._longest <= 0:
            return self._default
        if stated is None:
            known = self._groups.source(group)
            stated = read_keep_seconds(get_metadata(known[1])) if known is not None else None
        if stated is None:
            return self._default
        return min(stated, self._longest)

    def _describe(self, room: _Room, group: Group) -> bytes:
        message = self._classes.message(room.task.task_class)
        requests = {each.resource: each.amount for each in message.requests}
        content = {
            "machine": room.node,
            "job": room.task.job,
            "priority": room.task.priority,
            "requests": {**requests, "pods": 1},
            "ports": [(each.protocol, each.port, each.ip) for each in message.ports],
            "devices": bool(message.claims),
            "namespace": room.namespace,
            "name": group.member.name,
            "until": format_time(room.until),
        }
        return msgspec.json.encode(content)

    def _end(self, uid: str, outcome: str) -> None:
        room = self.rooms.pop(uid)
        self._of_namespace -= Counter((room.namespace,))
        uids = self._of_job[room.task.job]
        del uids[uid]
        if not uids:
            del self._of_job[room.task.job]
        self.outcomes[outcome] += 1
        self._records.set_record(RESTART_ROOM_RECORD, uid, None)


class _LeavingPods:
    """Pods that are being deleted but are still on their nodes, by job; each may have been replaced already."""

    def __init__(self) -> None:
        self._job_of: dict[str, str] = {}
        self._of_job: dict[str, dict[str, str]] = {}  # nodes of the job's pods that have not been replaced
        self._replaced: set[str] = set()

    def add(self, uid: str, job: str, node: str) -> None:
        """Note that a pod is about to leave its node."""
        if uid not in self._job_of:
            self._job_of[uid] = job
            self._of_job.setdefault(job, {})[uid] = node

    def replace_one(self, job: str, node: str) -> None:
        """Note that a new pod of a job has come to a node and replaces a leaving one, if possible one on that node."""
        if nodes := self._of_job.get(job):
            uid = min(nodes, key=lambda each: nodes[each] != node)
            self._replaced.add(uid)
            self._drop(uid)

    def remove(self, uid: str) -> bool:
        """Remove a deleted pod; return whether another pod has replaced it."""
        replaced = uid in self._replaced
        self._replaced.discard(uid)
        self._drop(uid)
        self._job_of.pop(uid, None)
        return replaced

    def _drop(self, uid: str) -> None:
        job = self._job_of.get(uid, "")
        nodes = self._of_job.get(job, {})
        if nodes.pop(uid, None) is not None and not nodes:
            del self._of_job[job]


def _is_preempted(pod: Pod) -> bool:
    """Return whether a scheduler has evicted the pod for another pod, by the pod's condition."""
    found = pod.condition(ConditionType.DISRUPTION_TARGET)
    return found is not None and found.status == "True" and found.reason == PREEMPTION_BY_SCHEDULER


def _leaves_room(record: PodRecord, pod: Pod | None) -> bool:
    """Return whether a pod that has ended or been deleted leaves room that its group may want back.

    A pod that succeeds by itself leaves none. A deleted pod leaves room, whatever the exit statuses of its containers
    are.
    """
    if pod is not None and _is_preempted(pod):
        return False
    if record.asked_to_leave or not record.place or record.phase not in ON_NODE | {Phase.ANSWER_DUE}:
        return False
    done = pod is not None and pod.status.phase == "Succeeded"
    return not done or (pod is not None and pod.metadata.deletion_timestamp is not None)
