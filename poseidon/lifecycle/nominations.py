"""Room on nodes that is kept for pods, as records for the solver.

It is kept for our own pods for which others leave, so that a new solver knows whose that room is; for those of other
schedulers, so that it is left to them; and for those that are moved, from the announcement on until their replacements
have it. Whoever moves a pod announces it by annotations (``poseidon.pods.moves``), and evicts it then. The next pod of
the same controller, with the same spec, is its replacement: for one round it may go to that node alone; if it gets no
place there, it is placed as any other. Nothing of this is written down but the annotations: after a restart, places are
kept for pods that are still there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Struct
from pydantic import Field

from poseidon.custom_records import CustomRecords
from poseidon.kube.api.pods import Pod
from poseidon.lifecycle.phases import PodRecord
from poseidon.pods.moves import announced_move
from poseidon.pods.resources import effective_requests
from poseidon.pods.tasks import Disposition, PriorityResolver, Task, UnknownPriorityClassError, disposition
from protos.conventions.configuration import Section

NOMINATION_RECORD = "NominatedTask"
"""Records of this kind have a pod's uid for a name, and the name of its node for a payload."""


FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Records of this kind have the uid of another scheduler's pod for a name, and for a payload its node, priority and
requests."""

_LONGEST = 600.0
"""Seconds: longer than that no place is kept, whatever an annotation says."""


class Nominations:
    """Tells ``records`` of the pods that are nominated for a node, until they are bound, or have no place after all.

    ``told``: ours, by uid. One that gets its place elsewhere in the end is still one for which others had to leave.
    """

    def __init__(self, records: CustomRecords) -> None:
        self._records = records
        self.told: set[str] = set()

    def put(self, record: PodRecord) -> None:
        """A pod is nominated for a node now."""
        self.told.add(record.task.uid)
        self._records.tell(NOMINATION_RECORD, record.task.uid, record.nominated.encode())

    def end(self, uid: str) -> None:
        """A pod is bound, or gone, or has no place: no room is kept for it."""
        if uid in self.told:
            self.told.discard(uid)
            self._records.tell(NOMINATION_RECORD, uid, None)

    def foreign(self, uid: str, payload: bytes | None) -> None:
        """Another scheduler's pod waits for room on a node (see ``foreign_nomination``), or no longer (None)."""
        self._records.tell(FOREIGN_NOMINATION_RECORD, uid, payload)


def foreign_nomination(pod: Pod, priorities: PriorityResolver) -> bytes | None:
    """Return what is told of another scheduler's pod that is nominated for a node, None for one that is not.

    Of its requests as the kubelet will count them; what is wrong with them is not looked at here.
    """
    node = pod.status.nominated_node_name
    if not node or disposition(pod) is not Disposition.PENDING:
        return None
    try:
        priority = priorities.priority(pod.spec)
    except UnknownPriorityClassError:
        priority = 0
    return room_record(pod, node, priority)


def room_record(pod: Pod, node: str, priority: int) -> bytes:
    """Return what is told of room on a node for all that a pod requests, kept from pods of its priority or less."""
    requests = {**effective_requests(pod.spec, []), "pods": 1}
    return msgspec.json.encode({"machine": node, "priority": priority, "requests": requests})


class MoveOptions(Section):
    """The section ``moves``: whether places are kept for pods that are moved, and for how many at once.

    Off by default: whoever may annotate pods may have room kept.
    """

    keep_places: bool = False
    most: Annotated[int, Field(ge=1, le=10_000)] = 100


class _Kept(Struct):
    """A place for the replacement of the pod ``task``; ``going``: that pod is, so that one may come, or is ``gone``."""

    task: Task
    node: str
    until: float
    going: bool = False
    gone: bool = False


class KeptPlaces:
    """``wall`` tells seconds since the epoch; ``records`` are told of the room that is kept.

    Of the places of pods that have gone, some are ``taken`` by their replacements, some ``refused`` to them by a round,
    and some ``expired`` before one came.
    """

    def __init__(self, options: MoveOptions, records: CustomRecords, wall: Callable[[], float]) -> None:
        self._options = options
        self._records = records
        self._wall = wall
        self._kept: dict[str, _Kept] = {}
        self._replacements: dict[str, str] = {}
        self._over: set[str] = set()
        self._outcomes: Counter[str] = Counter()

    def take(self, pod: Pod, task: Task) -> None:
        """Take a pod that runs, as it is now: it has come to its place, a move is announced or taken back."""
        node, until = announced_move(pod, self._wall())
        known = self._kept.get(task.uid)
        meant = self._replacements.pop(task.uid, "")
        if meant and meant == pod.spec.node_name:
            self._outcomes["taken"] += 1
        if not node or node == pod.spec.node_name or not task.job:
            if known is not None:
                self._drop(task.uid)
            return
        if known is None and (task.uid in self._over or len(self._kept) >= self._options.most):
            return
        until = min(until, self._wall() + _LONGEST)
        if known is None or known.node != node:
            self._kept[task.uid] = _Kept(task, node, until)
            self._records.tell(
                FOREIGN_NOMINATION_RECORD, _name(task.uid), room_record(pod, node, task.priority)
            )
        else:
            known.until = until
        # ReplicaSets and Jobs do not wait until a pod that is being deleted has ended.
        self._kept[task.uid].going |= pod.metadata.deletion_timestamp is not None

    def node_for(self, task: Task) -> str:
        """Return the node that is kept for a pod that waits, "" for none; from now on it is nobody else's."""
        if task.uid in self._replacements:
            return self._replacements[task.uid]
        found = [uid for uid, kept in self._kept.items() if kept.going and _replaces(task, kept.task)]
        if not found:
            return ""
        moved = next((uid for uid in found if self._kept[uid].task.name == task.name), found[0])
        kept = self._kept[moved]
        self._drop(moved)
        if not kept.gone:
            self._over.add(moved)
        self._replacements[task.uid] = kept.node
        return kept.node

    def gone(self, uid: str) -> None:
        """A pod is gone: its replacement may come, if it was being moved."""
        self._replacements.pop(uid, None)
        self._over.discard(uid)
        kept = self._kept.get(uid)
        if kept is not None:
            kept.going = kept.gone = True

    def refused(self, uid: str) -> bool:
        """A round has found no place for a pod; returns whether it might have gone to its kept place alone."""
        if self._replacements.get(uid):
            self._replacements[uid] = ""
            self._outcomes["refused"] += 1
            return True
        return False

    def take_outcomes(self) -> Counter[str]:
        """Return what has become of places, once."""
        outcomes, self._outcomes = self._outcomes, Counter()
        return outcomes

    def expire(self) -> None:
        """Keep no place whose time is over."""
        now = self._wall()
        for uid in [uid for uid, kept in self._kept.items() if kept.until <= now]:
            if self._kept[uid].going:
                self._outcomes["expired"] += 1
            self._drop(uid)

    def _drop(self, uid: str) -> None:
        del self._kept[uid]
        self._records.tell(FOREIGN_NOMINATION_RECORD, _name(uid), None)


def _replaces(task: Task, moved: Task) -> bool:
    return task.job == moved.job and task.traits.template is moved.traits.template


def _name(uid: str) -> str:
    return f"the replacement of {uid}"
