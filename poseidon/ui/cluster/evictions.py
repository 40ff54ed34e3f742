"""Finds pods that have been asked to leave their nodes, from conditions and from annotations of moves."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.kube.api.event_reasons import PREEMPTION_BY_SCHEDULER

if TYPE_CHECKING:
    from poseidon.ui.cluster.records import PodEntry

MOST = 200
PREEMPTED, MOVED, EVICTED = "preempted", "moved", "evicted"
_FOR = re.compile(r"\bby (?:pod|group) (\S+)")


@dataclass(slots=True)
class Eviction:
    """A pod (``namespace/name``) that leaves a node.

    ``beneficiary`` is the pod or group that gets the leaving pod's place, or None.
    """

    at: float
    pod: str
    node: str
    kind: str
    beneficiary: str | None
    gone: bool = False


class EvictionLog:
    """The last 200 evictions, by uid of the pod."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, Eviction] = OrderedDict()

    def __contains__(self, uid: str) -> bool:
        return uid in self._found

    def newest_first(self) -> list[Eviction]:
        """Return all evictions, the newest first."""
        return sorted(self._found.values(), key=lambda each: -each.at)

    def note(self, record: PodEntry, nominee: str | None, now: float) -> bool:
        """Add a pod's eviction if the pod is being evicted; return whether the eviction is new.

        ``nominee`` is the pod that gets the place.
        """
        disruption = record.disruption
        if disruption is None or not record.node or record.uid in self._found:
            return False
        kind, beneficiary = EVICTED, None
        if disruption.reason == PREEMPTION_BY_SCHEDULER or nominee is not None:
            kind = PREEMPTED
            named = _FOR.search(disruption.message)
            beneficiary = named.group(1) if named else nominee
        elif record.moves_to:
            kind, beneficiary = MOVED, record.moves_to
        self.put(record.uid, Eviction(disruption.at or now, record.name, record.node, kind, beneficiary))
        return True

    def put(self, uid: str, eviction: Eviction) -> None:
        """Add an eviction that does not come from a pod's condition, such as one that a plan proposes."""
        self._found[uid] = eviction
        if len(self._found) > MOST:
            self._found.popitem(last=False)

    def note_gone(self, uid: str) -> None:
        """Mark the eviction of a pod as completed, because the pod is gone."""
        if uid in self._found:
            self._found[uid].gone = True
