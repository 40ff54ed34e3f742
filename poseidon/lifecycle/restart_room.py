"""Keeps the room that pods of a group have left on their nodes until the group's new pods come, as records for the
solver.

A group that restarts comes back as new pods some seconds later: a Job of a JobSet, a leader with its workers. For as
long as the group asks (annotation ``firmament.io/keep-room-seconds``, else ``gangs.keepRoom``) the solver gives the
room to nobody else of at most the pod's priority. That ends before when a new pod of the group has a node, or when the
node is gone, cordoned or not ready.

No room is kept of pods that have succeeded, that were evicted for others here or are being moved, or that had no node.
Nothing of this is stored: after a restart of this process no room is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec import Struct

from poseidon.custom_records import CustomRecords
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
"""Rooms of so many pods are kept at once. Further ones are not kept."""


class _Room(Struct):
    """The room of a pod that left: its task, its node, and when that lapses, in seconds since the epoch."""

    task: Task
    node: str
    until: float


class KeptRooms:
    """Keeps room for groups that restart: for ``default`` seconds where neither pod nor group says, and for ``longest``
    at most where they do. ``wall`` returns seconds since the epoch; ``records`` get the room.

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
        self.rooms: dict[str, _Room] = {}
        self._of_job: dict[str, dict[str, None]] = {}
        self.outcomes: Counter[str] = Counter()

    def note_pod(self, pod: Pod, task: Task, former: str) -> None:
        """Note a group's pod, which was on the node ``former`` before, "" for none.

        It may say itself how long its room is kept, which is not kept at all while the pod is being moved. If it has
        come to a node, room that is kept for its group is kept no longer.
        """
        if pod.spec.node_name and not former:
            self._note_arrival(task, pod.spec.node_name)
        stated = read_keep_seconds(pod.metadata)
        if parse_announced_move(pod, self._wall())[0]:
            stated = 0.0
        if stated is None:
            self._stated.pop(task.uid, None)
        else:
            self._stated[task.uid] = stated

    def note_departure(self, record: PodRecord, pod: Pod | None) -> None:
        """Note that a pod of a known group holds nothing any more: it has ended (``pod``), or is gone (None)."""
        uid, stated = record.task.uid, self._stated.pop(record.task.uid, None)
        group = self._groups.group_of(uid)
        if group is None or not record.task.job or not _leaves_room(record, pod):
            return
        seconds = self._find_seconds(group, stated)
        if seconds <= 0:
            return
        if len(self.rooms) >= MOST_ROOMS:
            self.outcomes["refused"] += 1
            return
        room = _Room(record.task, record.place, self._wall() + seconds)
        self.rooms[uid] = room
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

    def _note_arrival(self, task: Task, node: str) -> None:
        """End the room of one pod of a job, as another one has come to a node.

        That is the room of an equal pod on this node, if there is one, else of any pod on it, else of an equal pod.
        """
        uids = self._of_job.get(task.job)
        if not uids:
            return

        def find_distance(uid: str) -> tuple[bool, bool]:
            room = self.rooms[uid]
            return room.node != node, room.task.traits.template is not task.traits.template

        uid = min(uids, key=find_distance)
        self._end(uid, "taken" if self.rooms[uid].node == node else "elsewhere")

    def _find_seconds(self, group: Group, stated: float | None) -> float:
        """Return for how long a pod's room is kept; ``stated``: by the pod itself, None if it says nothing."""
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
            "namespace": group.member.source.namespace,
            "name": group.member.name,
            "until": format_time(room.until),
        }
        return msgspec.json.encode(content)

    def _end(self, uid: str, outcome: str) -> None:
        room = self.rooms.pop(uid)
        uids = self._of_job[room.task.job]
        del uids[uid]
        if not uids:
            del self._of_job[room.task.job]
        self.outcomes[outcome] += 1
        self._records.tell(RESTART_ROOM_RECORD, uid, None)


def _leaves_room(record: PodRecord, pod: Pod | None) -> bool:
    """Return whether a pod that holds nothing any more has left room that its group may want back.

    A pod that succeeds by itself is done. One that is being deleted is not, whatever its containers' exit statuses are.
    """
    if record.asked_to_leave or not record.place or record.phase not in ON_NODE | {Phase.ANSWER_DUE}:
        return False
    done = pod is not None and pod.status.phase == "Succeeded"
    return not done or (pod is not None and pod.metadata.deletion_timestamp is not None)
