"""Keeps room on nodes for pods, as records for the solver.

The room is for three kinds of pods: our own for which others leave, so that a new solver knows whose room it
is; nominated pods of other schedulers; and pods that are being moved, from the announcement until their
replacements have the room. A program that moves a pod announces this by annotations
(``poseidon.pods.moves``), and then evicts the pod. The next pod of the same controller with the same spec is
its replacement: for one round it may go only to the announced node. If it gets no place there, it gets its
old place back, which is kept for it, too; only after that is it placed like any other pod. Only the
annotations are stored: after a restart, places are kept for pods that still exist.

Anybody who may annotate pods can have room kept, so this is limited: a place ends after its time, whatever is
updated meanwhile, and the same pod gets another one only after as long again. So it is for all pods of a namespace on
one node while no replacement comes, so that new pods do not hold a place on. If all places are in use, namespaces get
equal shares of them.
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
from poseidon.pods.moves import parse_announced_move
from poseidon.pods.requests_and_limits import effective_requests
from poseidon.pods.tasks import Disposition, PriorityResolver, Task, UnknownPriorityClassError, classify_pod
from protos.conventions.configuration import Section

NOMINATION_RECORD = "NominatedTask"
"""Records of this kind have a pod's uid for a name, and the name of its node for a payload."""


FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Records of this kind have the uid of another scheduler's pod for a name, and for a payload its node, priority and
requests."""

_LONGEST = 600.0
"""Seconds: longer than that no place is kept, whatever an annotation says."""


class NominationRecords:
    """Keeps records of nominated pods in ``records``, until a pod is bound or has no place after all.

    ``nominated``: uids of our nominated pods. A pod stays in it, even with another place, until ``end``: others left
    for it.
    """

    def __init__(self, records: CustomRecords) -> None:
        self._records = records
        self.nominated: set[str] = set()

    def put(self, record: PodRecord) -> None:
        """Record that a pod is nominated for a node."""
        self.nominated.add(record.task.uid)
        self._records.tell(NOMINATION_RECORD, record.task.uid, record.nominated.encode())

    def end(self, uid: str) -> None:
        """Record that a pod is bound, gone or without a place, so that no room is kept for it."""
        if uid in self.nominated:
            self.nominated.discard(uid)
            self._records.tell(NOMINATION_RECORD, uid, None)

    def foreign(self, uid: str, payload: bytes | None) -> None:
        """Record that another scheduler's pod waits for room on a node (see ``foreign_nomination``), or no
        longer (None).
        """
        self._records.tell(FOREIGN_NOMINATION_RECORD, uid, payload)


def foreign_nomination(pod: Pod, priorities: PriorityResolver) -> bytes | None:
    """Return the record of another scheduler's pod that is nominated for a node, None if it is not.

    It contains the requests as the kubelet will count them, without checking them.
    """
    node = pod.status.nominated_node_name
    if not node or classify_pod(pod) is not Disposition.PENDING:
        return None
    try:
        priority = priorities.priority(pod.spec)
    except UnknownPriorityClassError:
        priority = 0
    return room_record(pod, node, priority)


def room_record(pod: Pod, node: str, priority: int) -> bytes:
    """Return the record that keeps room on a node for all that a pod requests, from pods of its priority or less."""
    requests = {**effective_requests(pod.spec, []), "pods": 1}
    return msgspec.json.encode({"machine": node, "priority": priority, "requests": requests})


class MoveOptions(Section):
    """The section ``moves``: whether places are kept for pods that are moved, and for how many at once.

    Off by default, because anybody who may annotate pods can then have room kept.
    """

    keep_places: bool = False
    most: Annotated[int, Field(ge=1, le=10_000)] = 100


class _Kept(Struct):
    """A place for the replacement of a pod that is moved; times in seconds since the epoch."""

    task: Task
    """The pod that is moved."""
    namespace: str
    """Its namespace."""
    node: str
    """The node on which the place is."""
    since: float
    """When it began."""
    until: float
    """When it ends, if no replacement comes."""
    going: bool = False
    """Whether the pod is leaving, so that a replacement may come."""
    gone: bool = False
    """Whether it is gone."""


class _OldPlace(Struct):
    """The old place of a moved pod: its record (``content``), until when it is kept, and whether it is kept now
    (``kept``).
    """

    node: str
    content: bytes
    until: float
    kept: bool = False


class _Meant(Struct):
    """The only node that a replacement may use at present ("": any node), and the uid of the pod that it replaces.

    ``back``: it was refused there, and gets its old place.
    """

    node: str
    moved: str
    back: bool = False


class KeptPlaces:
    """Keeps places for moved pods. ``wall`` returns seconds since the epoch; ``records`` get the room that is
    kept.

    Places of pods that have gone are ``taken`` by their replacements, ``release``d by a round, or ``expired``
    before one came. Replacements that were refused have ``returned`` to their old places.
    """

    def __init__(self, options: MoveOptions, records: CustomRecords, wall: Callable[[], float]) -> None:
        self._options = options
        self._records = records
        self._wall = wall
        self._kept: dict[str, _Kept] = {}
        self._old: dict[str, _OldPlace] = {}
        self._replacements: dict[str, _Meant] = {}
        self._over: set[str] = set()
        self._began: dict[str, float] = {}
        self._rests: dict[tuple[str, str], float] = {}
        self._shares: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()

    def note_running(self, pod: Pod, task: Task) -> None:
        """Record the state of a running pod: it is on its kept place, or its move is announced, or no longer."""
        now = self._wall()
        node, until = parse_announced_move(pod, now)
        known = self._kept.get(task.uid)
        meant = self._replacements.pop(task.uid, None)
        if meant is not None:
            if meant.node == pod.spec.node_name:
                self._outcomes["returned" if meant.back else "taken"] += 1
            self._end_old(meant.moved)
        namespace = pod.metadata.namespace
        if known is not None and known.node != node:
            self._end_unused(task.uid, now)
            known = None
        if not node or node == pod.spec.node_name or not task.job:
            return
        rests = self._rests.get((namespace, node), 0.0) > now
        if known is None and (task.uid in self._over or rests or not self._has_share(namespace)):
            return
        until = min(until, self._latest(task.uid, now), self._latest_there(namespace, node, now))
        if until <= now:
            self._end_unused(task.uid, now)
        elif known is None:
            self._keep(pod, _Kept(task, namespace, node, now, until))
        else:
            known.until = until
        # ReplicaSets and Jobs do not wait until a pod that is being deleted has ended.
        if task.uid in self._kept:
            self._kept[task.uid].going |= pod.metadata.deletion_timestamp is not None

    def node_for(self, task: Task) -> str:
        """Return the node that is kept for a waiting pod, "" for none; from now on it is reserved for this pod."""
        if task.uid in self._replacements:
            return self._replacements[task.uid].node
        found = [uid for uid, kept in self._kept.items() if kept.going and _replaces(task, kept.task)]
        if not found:
            return ""
        moved = next((uid for uid in found if self._kept[uid].task.name == task.name), found[0])
        kept = self._kept[moved]
        self._drop(moved)
        if not kept.gone:
            self._over.add(moved)
        self._replacements[task.uid] = _Meant(kept.node, moved)
        return kept.node

    def note_gone(self, uid: str) -> None:
        """Record that a pod is gone: if it was being moved, its replacement may take the kept place."""
        meant = self._replacements.pop(uid, None)
        if meant is not None:
            self._end_old(meant.moved)
        self._over.discard(uid)
        self._began.pop(uid, None)
        kept = self._kept.get(uid)
        if kept is not None:
            kept.going = kept.gone = True
        old = self._old.get(uid)
        if old is not None and not old.kept:
            old.kept = True
            self._records.tell(FOREIGN_NOMINATION_RECORD, _old_name(uid), old.content)

    def release(self, uid: str) -> bool:
        """Record that a round found no place for a pod; return whether the pod was limited to its kept place.

        That is its old node then, if that is still kept for it, and after that any.
        """
        meant = self._replacements.get(uid)
        if meant is None or not meant.node:
            return False
        if not meant.back:
            self._outcomes["refused"] += 1
        old = self._old.get(meant.moved)
        meant.node, meant.back = old.node if old is not None and old.kept else "", True
        self._end_old(meant.moved)
        return True

    def node_now(self, uid: str) -> str:
        """Return the only node to which a replacement may go now, "" for any node."""
        meant = self._replacements.get(uid)
        return meant.node if meant is not None else ""

    def take_outcomes(self) -> Counter[str]:
        """Return the number of kept places by outcome, each counted once."""
        outcomes, self._outcomes = self._outcomes, Counter()
        return outcomes

    def expire(self) -> None:
        """Drop kept places whose time has run out."""
        now = self._wall()
        for uid in [uid for uid, kept in self._kept.items() if kept.until <= now]:
            if self._kept[uid].going:
                self._outcomes["expired"] += 1
            self._end_unused(uid, now)
        for uid in [uid for uid, old in self._old.items() if old.until <= now]:
            self._end_old(uid)
        for uid in [uid for uid, began in self._began.items() if began + 2 * _LONGEST <= now]:
            del self._began[uid]
        for place in [place for place, until in self._rests.items() if until <= now]:
            del self._rests[place]

    def _latest(self, uid: str, now: float) -> float:
        """Return until when a pod may have a kept place. After it ends, none is kept for as long again."""
        began = self._began.get(uid)
        if began is None or began + 2 * _LONGEST <= now:
            began = self._began[uid] = now
        return began + _LONGEST

    def _latest_there(self, namespace: str, node: str, now: float) -> float:
        """Return until when a namespace may keep places on a node: until its oldest place there ends."""
        kept = self._kept.values()
        oldest = min((it.since for it in kept if (it.namespace, it.node) == (namespace, node)), default=now)
        return oldest + _LONGEST

    def _has_share(self, namespace: str) -> bool:
        """Return whether a namespace may keep one more place. If all are in use, the namespace with the most gives one
        up.

        No namespace ends with fewer than the other by that. A place for which no pod is leaving yet goes first, the
        latest.
        """
        if len(self._kept) < self._options.most:
            return True
        largest = max(self._shares, key=lambda name: (self._shares[name], name))
        if self._shares[largest] < self._shares[namespace] + 2:
            return False
        of_largest = [uid for uid, kept in self._kept.items() if kept.namespace == largest]
        self._forget(next((uid for uid in reversed(of_largest) if not self._kept[uid].going), of_largest[-1]))
        return True

    def _keep(self, pod: Pod, kept: _Kept) -> None:
        task, here = kept.task, pod.spec.node_name
        if task.uid not in self._kept:
            self._shares[kept.namespace] += 1
        self._kept[task.uid] = kept
        content = room_record(pod, kept.node, task.priority)
        self._records.tell(FOREIGN_NOMINATION_RECORD, _name(task.uid), content)
        self._old[task.uid] = _OldPlace(here, room_record(pod, here, task.priority), kept.until)

    def _end_unused(self, uid: str, now: float) -> None:
        """End a kept place for which no replacement came. Its namespace keeps none on that node for as long again."""
        kept = self._kept.get(uid)
        if kept is None:
            return
        place = kept.namespace, kept.node
        self._rests[place] = max(self._rests.get(place, 0.0), now + min(now - kept.since, _LONGEST))
        self._forget(uid)

    def _forget(self, uid: str) -> None:
        """Stop keeping both the place that a pod goes to and the place that it had."""
        if uid in self._kept:
            self._drop(uid)
            self._end_old(uid)

    def _drop(self, uid: str) -> None:
        namespace = self._kept.pop(uid).namespace
        self._shares[namespace] -= 1
        if not self._shares[namespace]:
            del self._shares[namespace]
        self._records.tell(FOREIGN_NOMINATION_RECORD, _name(uid), None)

    def _end_old(self, uid: str) -> None:
        old = self._old.pop(uid, None)
        if old is not None and old.kept:
            self._records.tell(FOREIGN_NOMINATION_RECORD, _old_name(uid), None)


def _replaces(task: Task, moved: Task) -> bool:
    return task.job == moved.job and task.traits.template is moved.traits.template


def _name(uid: str) -> str:
    return f"the replacement of {uid}"


def _old_name(uid: str) -> str:
    return f"the place that {uid} had"
