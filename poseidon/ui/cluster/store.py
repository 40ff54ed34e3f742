"""Keeps the present nodes and pods with their recent history; watches update it, and it does no input or output."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from poseidon.pods.move_annotations import MOVE_TO
from poseidon.ui.cluster.evictions import EvictionLog
from poseidon.ui.cluster.groupings import groupings
from poseidon.ui.cluster.name_order import NameOrder
from poseidon.ui.cluster.node_entry import Happening, NodeEntry
from poseidon.ui.cluster.records import BOUND, NOT_LOOKED_AT, NodeFacts, PodEntry, Recorder, node_facts
from poseidon.ui.cluster.requested_history import RequestedHistory

if TYPE_CHECKING:
    from poseidon.kube.api.nodes import Node
    from poseidon.kube.api.pods import Pod
    from poseidon.kube.api.resource import Change
    from poseidon.ui.versions import Versions

GONE_SECONDS = 900.0
MOST_GONE = 10_000
_MOST_SAID = 5


class ClusterStore:
    """The nodes and pods that the dashboard knows; their changes are marked in ``versions``.

    ``pods`` has pods by uid; ``gone`` has the pods that disappeared in the last 15 minutes, by uid; ``nodes`` has
    nodes by name. ``thresholds`` are in percent of measured use. ``wall`` returns seconds since the epoch.
    """

    def __init__(self, versions: Versions, wall: Callable[[], float]) -> None:
        self._versions = versions
        self._wall = wall
        self._recorder = Recorder()
        self._names: dict[str, str] = {}
        self._node_names: dict[str, str] = {}
        self._node_uids: dict[str, str] = {}
        self._free_slots: list[int] = []
        self._order = NameOrder()
        self._slots = 0
        self._groupings: list[str] | None = None
        self.pods: dict[str, PodEntry] = {}
        self.waiting: dict[str, PodEntry] = {}
        self.gone: OrderedDict[str, PodEntry] = OrderedDict()
        self.nodes: dict[str, NodeEntry] = {}
        self.evictions = EvictionLog()
        self.requested = RequestedHistory()
        self.thresholds: Mapping[str, float] = {}
        self.bound = 0
        self.live = False
        """Whether changes are news, because the first lists of objects are complete."""

    # --- pods ------------------------------------------------------------------------------------------------

    def pods_changed(self, changes: Sequence[Change[Pod]]) -> None:
        """Update the pods that have changed."""
        now = self._wall()
        for uid, pod in changes:
            former = self.pods.get(uid)
            if pod is None:
                if former is not None:
                    self._pod_gone(former, now)
                continue
            record = self._recorder.pod(uid, pod, pod.metadata.annotations.get(MOVE_TO, ""), now)
            self._put(record, former, now)
        self._versions.mark("overview", "cluster", "pending", "groups")

    def _put(self, record: PodEntry, former: PodEntry | None, now: float) -> None:
        if former is None:
            self._order.add(record.name, record.uid)
        else:
            record.said = former.said
            self._subtract(former)
        news = record.reason != NOT_LOOKED_AT and (not record.said or record.said[-1][1] != record.reason)
        if record.waits and news:
            record.said = (
                *record.said[1 - _MOST_SAID :],
                (now if self.live else record.created, record.reason),
            )
        self.pods[record.uid] = record
        self._names[record.name] = record.uid
        if record.phase == BOUND:
            self.bound += 1
            entry = self._entry(record.node)
            entry.add(record.uid, record.requests)
            if self.live and (former is None or former.phase != BOUND):
                entry.history.append(Happening(now, "bound", record.name))
        elif record.waits:
            self.waiting[record.uid] = record
            if record.nominated:
                entry = self._entry(record.nominated)
                entry.nominated.add(record.uid)
                entry.touch()
        elif former is not None and former.phase == BOUND:
            self._note_departure(former, now)
        if record.disruption is not None and self.evictions.note(record, self._nominee(record.node), now):
            self._entry(record.node).history.append(Happening(now, "evicted", record.name))

    def _subtract(self, record: PodEntry) -> None:
        """Subtract what a pod contributed to all sums before it changed."""
        if record.phase == BOUND:
            self.bound -= 1
            self.nodes[record.node].remove(record.uid, record.requests)
            self._drop_unneeded(record.node)
        elif record.waits:
            self.waiting.pop(record.uid, None)
            if record.nominated and record.nominated in self.nodes:
                entry = self.nodes[record.nominated]
                entry.nominated.discard(record.uid)
                entry.touch()
                self._drop_unneeded(record.nominated)

    def _pod_gone(self, record: PodEntry, now: float) -> None:
        self._subtract(record)
        del self.pods[record.uid]
        self._order.remove(record.uid)
        if self._names.get(record.name) == record.uid:
            del self._names[record.name]
        if record.phase == BOUND:
            self._note_departure(record, now)
        self.evictions.note_gone(record.uid)
        record.gone = now
        self.gone[record.uid] = record
        self.forget_old(now)

    def _note_departure(self, record: PodEntry, now: float) -> None:
        entry = self.nodes.get(record.node)
        if entry is not None and self.live:
            entry.history.append(Happening(now, "gone", record.name))

    def _nominee(self, node: str) -> str | None:
        entry = self.nodes.get(node)
        uids = entry.nominated if entry is not None else ()
        return min((self.pods[uid].name for uid in uids if uid in self.pods), default=None)

    def forget_old(self, now: float) -> None:
        """Forget pods that were deleted long ago; if there are too many, also those deleted first."""
        while self.gone:
            oldest = next(iter(self.gone.values()))
            if now - oldest.gone <= GONE_SECONDS and len(self.gone) <= MOST_GONE:
                return
            self.gone.popitem(last=False)

    def pod(self, name: str) -> PodEntry | None:
        """Return the pod ``namespace/name``, or else the last deleted pod with this name, or None."""
        uid = self._names.get(name)
        if uid is not None:
            return self.pods[uid]
        return next((each for each in reversed(self.gone.values()) if each.name == name), None)

    def list_pods(self) -> list[PodEntry]:
        """Return all pods that exist, sorted by name."""
        return self._order.records(self.pods)

    def on_node(self, entry: NodeEntry) -> Iterator[PodEntry]:
        """Yield the pods that are bound to a node."""
        return (self.pods[uid] for uid in entry.pods)

    # --- nodes -----------------------------------------------------------------------------------------------

    def nodes_changed(self, changes: Sequence[Change[Node]]) -> None:
        """Update the nodes that have changed."""
        now = self._wall()
        for uid, node in changes:
            if node is None:
                self._node_gone(uid)
                continue
            name = node.metadata.name
            self._node_names[uid], self._node_uids[name] = name, uid
            entry = self._entry(name)
            facts = node_facts(node)
            if self.live:
                entry.history.extend(Happening(now, what, None) for what in _news(entry.facts, facts))
            if entry.facts is None or entry.facts.labels != facts.labels:
                self._groupings = None
            entry.facts = facts
            entry.touch()
        self._versions.mark("overview", "cluster", "flow")

    def _node_gone(self, uid: str) -> None:
        name = self._node_names.pop(uid, "")
        if self._node_uids.get(name) == uid:
            del self._node_uids[name]
            self.nodes[name].facts = None
            self._groupings = None
            self.nodes[name].touch()
            self._drop_unneeded(name)

    def iter_nodes(self) -> Iterator[NodeEntry]:
        """Yield the nodes that exist."""
        return (each for each in self.nodes.values() if each.facts is not None)

    def groupings(self) -> list[str]:
        """Return the keys of labels by which nodes can be grouped, the most useful first.

        The key "" means one group.
        """
        if self._groupings is None:
            self._groupings = groupings(
                each.facts.labels for each in self.nodes.values() if each.facts is not None
            )
        return self._groupings

    def set_usage(self, uses: Iterable[tuple[str, Mapping[str, int] | None, float]]) -> None:
        """Set the measured use of nodes: name, amounts (None if unknown now), and when it was measured."""
        for name, amounts, at in uses:
            entry = self.nodes.get(name)
            if entry is not None:
                entry.used, entry.used_at = amounts, at
                entry.touch()
        self._versions.mark("cluster")

    def set_thresholds(self, thresholds: Mapping[str, float]) -> None:
        """Set the thresholds of measured use, in percent by resource."""
        self.thresholds = dict(thresholds)
        for entry in self.nodes.values():
            entry.touch()
        self._versions.mark("cluster")

    def sample(self, now: float) -> None:
        """Add a sample to the history of how much of each node is requested."""
        rows = ((each.slot, each.columns(self.thresholds)) for each in self.nodes.values())
        self.requested.add_sample(now, self._slots, ((slot, row.cpu, row.memory) for slot, row in rows))

    def _entry(self, name: str) -> NodeEntry:
        entry = self.nodes.get(name)
        if entry is None:
            slot = self._free_slots.pop() if self._free_slots else self._slots
            self._slots = max(self._slots, slot + 1)
            entry = self.nodes[name] = NodeEntry(name, slot, self.requested.taken)
        return entry

    def _drop_unneeded(self, name: str) -> None:
        entry = self.nodes[name]
        if not entry.is_needed:
            self._free_slots.append(entry.slot)
            del self.nodes[name]

    # --- figures of the whole cluster ------------------------------------------------------------------------

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of bound pods, of waiting pods, and of other pods."""
        return self.bound, len(self.waiting), len(self.pods) - self.bound - len(self.waiting)


def _news(former: NodeFacts | None, facts: NodeFacts) -> Iterator[str]:
    if former is None:
        yield "added"
        return
    if former.cordoned != facts.cordoned:
        yield "cordoned" if facts.cordoned else "uncordoned"
    if former.ready != facts.ready:
        yield "ready" if facts.ready else "not ready"
