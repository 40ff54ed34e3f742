"""Keeps the room that pods of a group have left on their nodes until the group's new pods come, as records for the
solver.

A group that restarts comes back as new pods some seconds later: a Job of a JobSet, a leader with its workers. For as
long as the group asks (annotation ``firmament.io/keep-room-seconds``, else ``gangs.keepRoom``) the solver gives the
room to nobody else of at most the pod's priority. That ends before when a new pod of the group has a node, or when the
node is gone, cordoned or not ready.

No room is kept of pods that have succeeded, that were evicted for others or are being moved, that had no node, or whose
replacement came to a node before they were gone; nor of pods of an object that is suspended as a whole. And none is
kept for groups that a share of an owner's pods makes up: the id of their job has the uid of the owner, so pods of
another owner that takes its place are in another job.

Nothing of this is stored: after a restart of this process no room is kept.
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
from poseidon.pods.moves import parse_announced_move
from poseidon.pods.tasks import Task

RESTART_ROOM_RECORD = "RestartRoom"
"""Records of this kind have the uid of the pod that left for a name, and for a payload what is kept for its group."""

MOST_ROOMS = 5_000
"""Rooms of so many pods are kept at once, a fifth of them in one namespace. Further ones are not kept."""

_NAMESPACES = 5


class _Room(Struct):
    """The room of a pod that left: its task, its node, when that lapses, in seconds since the epoch, and for which
    namespace it counts.
    """

    task: Task
    node: str
    until: float
    namespace: str


class KeptRooms:
    """Keeps room for groups that restart: for ``default`` seconds where neither pod nor group says, and for ``longest``
    at most where they do; if that is 0, what they say does not count. ``wall`` returns seconds since the epoch;
    ``records`` get the room.

    Outcomes: rooms are ``taken`` by a new pod of the group on the node, or given up as one has come ``elsewhere``, as
    the node ``closed``, or as they ``lapsed``; beyond ``MOST_ROOMS`` they are ``refused``. While there are no ``rooms``
    and no ``outcomes``, ``expire`` and ``take_outcomes`` need not be called.
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
        self._bound: set[str] = set()  # pods that count as arrived, and have not been shown on their nodes
        self._leaving = _LeavingPods()
        self._of_namespace: Counter[str] = Counter()
        self.rooms: dict[str, _Room] = {}
        self._of_job: dict[str, dict[str, None]] = {}
        self.outcomes: Counter[str] = Counter()

    def note_pod(self, pod: Pod, task: Task, known: PodRecord | None) -> None:
        """Note a group's pod; ``known``: its record so far.

        It may say itself how long its room is kept, which is not kept at all while the pod is being moved, or once it
        has been evicted for another pod. If it has come to a node, room that is kept for its group is kept no longer.
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
        """Note how a pod's binding has ended: if it is bound, room is kept no longer, before the pod is shown there.

        So the solver never counts both the room and the pod. To be called while there are ``rooms``.
        """
        task = record.task
        if task.job in self._of_job and record.phase is Phase.BOUND and not record.node:
            if task.uid not in self._bound:
                self._note_arrival(task, record.place, was_awaited=True)
            self._bound.add(task.uid)

    def note_departure(self, record: PodRecord, pod: Pod | None) -> None:
        """Note that a pod of a known group holds nothing any more: it has ended (``pod``), or is gone (None)."""
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
        self._records.tell(RESTART_ROOM_RECORD, uid, self._describe(room, group))

    def expire(self) -> None:
        """End what has lapsed, and what is on nodes that take no pods now."""
        now = self._wall()
        for uid, room in [*self.rooms.items()]:
            machine = self._machines.get(room.node)
            if room.until <= now:
                self._end(uid, "lapsed")
            elif machine is None or machine.unschedulable or machine.not_ready:
                self._end(uid, "closed")

    def take_outcomes(self) -> Counter[str]:
        """Return the outcomes of rooms, once."""
        outcomes, self.outcomes = self.outcomes, Counter()
        return outcomes

    def _note_arrival(self, task: Task, node: str, *, was_awaited: bool) -> None:
        """End the room of one pod of a job, as another one has come to a node.

        That is the room of an equal pod on this node, if there is one, else of any pod on it, else of an equal pod. If
        none is kept, a pod that is about to leave will leave none; ``was_awaited``: whether the new pod was known
        before, and so can have come for it.
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
        """Return for how long a pod's room is kept; ``stated``: by the pod itself, None if it says nothing."""
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
        self._records.tell(RESTART_ROOM_RECORD, uid, None)


class _LeavingPods:
    """Pods that are being deleted and still hold their nodes, by job; each may have been replaced already."""

    def __init__(self) -> None:
        self._job_of: dict[str, str] = {}
        self._of_job: dict[str, dict[str, str]] = {}  # the nodes of those that have not been replaced
        self._replaced: set[str] = set()

    def add(self, uid: str, job: str, node: str) -> None:
        """Note that a pod on a node leaves."""
        if uid not in self._job_of:
            self._job_of[uid] = job
            self._of_job.setdefault(job, {})[uid] = node

    def replace_one(self, job: str, node: str) -> None:
        """Note that another pod has come to a node, for one on that node if there is one."""
        if nodes := self._of_job.get(job):
            uid = min(nodes, key=lambda each: nodes[each] != node)
            self._replaced.add(uid)
            self._drop(uid)

    def remove(self, uid: str) -> bool:
        """Forget a pod that is gone; return whether another one has replaced it."""
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
    """Return whether some scheduler has had the pod deleted for another one; that is known after a restart, too."""
    found = pod.condition(ConditionType.DISRUPTION_TARGET)
    return found is not None and found.status == "True" and found.reason == PREEMPTION_BY_SCHEDULER


def _leaves_room(record: PodRecord, pod: Pod | None) -> bool:
    """Return whether a pod that holds nothing any more has left room that its group may want back.

    A pod that succeeds by itself is done. One that is being deleted is not, whatever its containers' exit statuses are.
    """
    if pod is not None and _is_preempted(pod):
        return False
    if record.asked_to_leave or not record.place or record.phase not in ON_NODE | {Phase.ANSWER_DUE}:
        return False
    done = pod is not None and pod.status.phase == "Succeeded"
    return not done or (pod is not None and pod.metadata.deletion_timestamp is not None)
