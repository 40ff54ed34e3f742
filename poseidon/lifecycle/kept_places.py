"""Reserves capacity on nodes for the replacements of pods that are being moved, by sending records to the solver.

A program that moves a pod announces this by annotations (``poseidon.pods.move_annotations``), and then evicts the pod.
The next pod of the same controller with the same spec is its replacement: for one round it may go only to the announced
node. If the replacement gets no place on that node, it may go to the old node of the moved pod, where capacity is
reserved, too. After that, the replacement is placed like any other pod. Only the annotations are stored: after a
restart, capacity is reserved only for moved pods that still exist.

Anybody who may annotate pods can reserve capacity in this way, so reservations are limited. A reservation ends after
its time, even if the annotations are updated; the same pod gets another reservation only after a pause of the same
length. If no replacement comes, the same pause applies to all pods of the namespace on that node, so that new pods
cannot prolong a reservation. If all reservations are in use, namespaces get equal shares of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from poseidon.custom_records import CustomRecords
from poseidon.kube.api.pods import Pod
from poseidon.lifecycle.nominated_node_names import FOREIGN_NOMINATION_RECORD, reservation_record
from poseidon.pods.move_annotations import parse_announced_move
from poseidon.pods.tasks import Task
from protos.configuration.sections import Section

_LONGEST = 600.0
"""Longest time in seconds for which capacity is reserved, whatever an annotation says."""


class MoveOptions(Section):
    """The section ``moves``: whether capacity is reserved for replacements of moved pods, and for how many at once.

    This is off by default, because anybody who may annotate pods can then reserve capacity.
    """

    keep_places: bool = False
    most: Annotated[int, Field(ge=1, le=10_000)] = 100


class _Kept(Struct):
    """Capacity reserved for the replacement of a pod that is moved; times are in seconds since the epoch."""

    task: Task
    """The pod that is moved."""
    namespace: str
    """The namespace of the moved pod."""
    node: str
    """The node on which capacity is reserved."""
    since: float
    """The time when the reservation began."""
    until: float
    """The time when the reservation ends if no replacement is created."""
    going: bool = False
    """Whether the moved pod is being deleted, so that a replacement may come."""
    gone: bool = False
    """Whether the moved pod has been deleted."""


class _OldPlace(Struct):
    """The reservation of a moved pod's old node.

    ``content`` is the content of its record, ``until`` the time when it ends, and ``kept`` whether it is in force
    now.
    """

    node: str
    content: bytes
    until: float
    kept: bool = False


class _Meant(Struct):
    """The only node that a replacement may use at present ("": any), and the uid of the pod that it replaces.

    ``back``: whether the replacement goes to the old node of the moved pod, because a round found no place on the
    reserved node.
    """

    node: str
    moved: str
    back: bool = False


class KeptPlaces:
    """The nodes that are reserved for replacements of moved pods.

    ``wall`` returns seconds since the epoch; ``records`` get the reservations.

    Outcomes of reservations: ``taken`` by the replacement; ``refused``, if a round found no place on the reserved
    node; ``expired`` before a replacement came. A refused replacement may have ``returned`` to the old node.
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
        """Update reservations after a change of a running pod, which may have arrived or announce its move."""
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
        # A replacement may exist already: ReplicaSets and Jobs do not wait until a pod that is being deleted has
        # ended.
        if task.uid in self._kept:
            self._kept[task.uid].going |= pod.metadata.deletion_timestamp is not None

    def node_for(self, task: Task) -> str:
        """Return the node reserved for a waiting pod, "" for none. From now on the reservation belongs to this pod."""
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
        """Record that a pod has been deleted.

        If the pod was being moved, its replacement may take the reserved place.
        """
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
            self._records.set_record(FOREIGN_NOMINATION_RECORD, _old_name(uid), old.content)

    def release(self, uid: str) -> bool:
        """Record that a round found no place for a pod; return whether the pod was limited to a reserved node.

        The pod may then go to its old node, if that node is still reserved for it, and after that to any node.
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
        """Return the numbers of reservations by outcome since the last call."""
        outcomes, self._outcomes = self._outcomes, Counter()
        return outcomes

    def expire(self) -> None:
        """End the reservations whose time is over."""
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
        """Return until when a node may be reserved for a pod's replacement. After that comes as long a pause."""
        began = self._began.get(uid)
        if began is None or began + 2 * _LONGEST <= now:
            began = self._began[uid] = now
        return began + _LONGEST

    def _latest_there(self, namespace: str, node: str, now: float) -> float:
        """Return until when a namespace may have reservations on a node: until its oldest reservation there ends."""
        kept = self._kept.values()
        oldest = min((it.since for it in kept if (it.namespace, it.node) == (namespace, node)), default=now)
        return oldest + _LONGEST

    def _has_share(self, namespace: str) -> bool:
        """Return whether a namespace may have one more reservation.

        If all reservations are in use, the namespace with the most may have to give up one.

        A reservation is taken away only if all reservations are in use, and if the largest namespace keeps at least
        as many as the asking one then has. The latest reservation whose pod is not leaving yet goes first.
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
        content = reservation_record(pod, kept.node, task.priority)
        self._records.set_record(FOREIGN_NOMINATION_RECORD, _name(task.uid), content)
        self._old[task.uid] = _OldPlace(here, reservation_record(pod, here, task.priority), kept.until)

    def _end_unused(self, uid: str, now: float) -> None:
        """End an unused reservation.

        After that, the namespace gets no reservation on the node for as long as this one lasted.
        """
        kept = self._kept.get(uid)
        if kept is None:
            return
        place = kept.namespace, kept.node
        self._rests[place] = max(self._rests.get(place, 0.0), now + min(now - kept.since, _LONGEST))
        self._forget(uid)

    def _forget(self, uid: str) -> None:
        """End the reservations of both the new and the old node of a moved pod."""
        if uid in self._kept:
            self._drop(uid)
            self._end_old(uid)

    def _drop(self, uid: str) -> None:
        namespace = self._kept.pop(uid).namespace
        self._shares[namespace] -= 1
        if not self._shares[namespace]:
            del self._shares[namespace]
        self._records.set_record(FOREIGN_NOMINATION_RECORD, _name(uid), None)

    def _end_old(self, uid: str) -> None:
        old = self._old.pop(uid, None)
        if old is not None and old.kept:
            self._records.set_record(FOREIGN_NOMINATION_RECORD, _old_name(uid), None)


def _replaces(task: Task, moved: Task) -> bool:
    return task.job == moved.job and task.traits.template is moved.traits.template


def _name(uid: str) -> str:
    return f"the replacement of {uid}"


def _old_name(uid: str) -> str:
    return f"the place that {uid} had"
