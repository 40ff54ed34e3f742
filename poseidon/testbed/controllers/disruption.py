"""Simulates the disruption controller, which updates the status of PodDisruptionBudgets; this status decides evictions.

Counting follows ``pkg/controller/disruption``. A pod is healthy while it is Ready and not being deleted. Percentages
and ``maxUnavailable`` refer to the ``replicas`` of the pods' controllers if these exist as objects, else to the
number of pods. (With the real controller, pods need a controller object for this.)
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.controllers.node_rules import selects
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.pods import condition_of
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

BUDGETS = "poddisruptionbudgets.policy"
_SCALED = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicationController": "replicationcontrollers",
}


class _Pod(NamedTuple):
    namespace: str
    labels: dict[str, str]
    healthy: bool
    owner: tuple[str, str]


@dataclass(slots=True)
class _Budget:
    """A PodDisruptionBudget, and the pods that it covers, by uid."""

    key: str
    namespace: str
    spec: Object
    generation: int
    pods: dict[str, _Pod] = field(default_factory=dict)

    def covers(self, pod: _Pod) -> bool:
        return pod.namespace == self.namespace and selects(self.spec.get("selector"), pod.labels)


class DisruptionController:
    """Follows the pods and budgets of a store, and writes the budgets' status."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._collection = store.collection(BUDGETS)
        self.follows = store.collection("pods"), self._collection
        self._followed_pods = Follower(self.follows[0])
        self._followed_budgets = Follower(self._collection)
        self._pods: dict[str, _Pod] = {}
        self._budgets: dict[str, _Budget] = {}

    def advance(self, now: float) -> None:  # noqa: ARG002 - driven as what has to wait is
        """Update the status of all budgets."""
        self.refresh()

    def refresh(self) -> None:
        """Update the status of all budgets from the store; this takes almost no time if there is no budget."""
        if not len(self._collection) and not self._budgets:
            return
        dirty = self._take_pods() | self._take_budgets()
        for uid in dirty:
            budget = self._budgets.get(uid)
            record = self._collection.get(budget.key) if budget is not None else None
            if budget is not None and record is not None:
                obj = decode(record)
                obj["status"] = self._status(budget, obj.get("status") or {})
                self._store.replace(self._collection, record, obj)

    def covering(self, uid: str) -> list[Record]:
        """Return the budgets that cover a pod, as they were at the last ``refresh``."""
        pod = self._pods.get(uid)
        found = [b for b in self._budgets.values() if pod is not None and b.covers(pod)]
        records = (self._collection.get(budget.key) for budget in found)
        return [record for record in records if record is not None]

    def _take_pods(self) -> set[str]:
        anew, changes = self._followed_pods.take_changes()
        dirty: set[str] = set()
        if anew:
            for uid in self._pods.keys() - {record.uid for _, record in changes}:
                dirty |= self._put(uid, None)
        for gone, record in changes:
            dirty |= self._put(record.uid, None if gone else _pod(decode(record), record))
        return dirty

    def _put(self, uid: str, pod: _Pod | None) -> set[str]:
        """Store a pod's present state; return the budgets that this affects."""
        before = self._pods.pop(uid, None)
        if pod is not None:
            self._pods[uid] = pod
        if pod == before:
            return set()
        concerned = set()
        for key, budget in self._budgets.items():
            if pod is not None and budget.covers(pod):
                budget.pods[uid] = pod
                concerned.add(key)
            elif budget.pods.pop(uid, None) is not None:
                concerned.add(key)
        return concerned

    def _take_budgets(self) -> set[str]:
        anew, changes = self._followed_budgets.take_changes()
        if anew:
            self._budgets.clear()
        dirty = set()
        for gone, record in changes:
            if gone:
                self._budgets.pop(record.uid, None)
                continue
            obj = decode(record)
            generation = obj["metadata"].get("generation", 0)
            known = self._budgets.get(record.uid)
            if known is None or known.generation != generation:
                made = _Budget(record.key, record.namespace, obj.get("spec") or {}, generation)
                made.pods = {uid: pod for uid, pod in self._pods.items() if made.covers(pod)}
                self._budgets[record.uid] = made
                dirty.add(record.uid)
        return dirty

    def _status(self, budget: _Budget, before: Object) -> Object:
        healthy = sum(pod.healthy for pod in budget.pods.values())
        expected, desired = self._count_wanted(budget)
        allowed = max(0, healthy - desired) if expected else 0
        enough = "True" if allowed > 0 else "False"
        since = [c["lastTransitionTime"] for c in before.get("conditions") or () if c["status"] == enough]
        condition = {
            "type": "DisruptionAllowed",
            "status": enough,
            "reason": "SufficientPods" if allowed > 0 else "InsufficientPods",
            "observedGeneration": budget.generation,
            "lastTransitionTime": since[0] if since else self._store.now(),
            "message": "",
        }
        return {
            "observedGeneration": budget.generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": [condition],
        }

    def _count_wanted(self, budget: _Budget) -> tuple[int, int]:
        """Return the expected number of pods of a budget, and how many of them should be healthy."""
        least, most_away = budget.spec.get("minAvailable"), budget.spec.get("maxUnavailable")
        if isinstance(least, int):
            return len(budget.pods), least
        expected = self._scale(budget)
        if most_away is not None:
            return expected, max(0, expected - _share(most_away, expected))
        return expected, _share(least if least is not None else 1, expected)

    def _scale(self, budget: _Budget) -> int:
        """Return the number of replicas that the covered pods' controllers state."""
        expected = 0
        for (kind, name), count in Counter(pod.owner for pod in budget.pods.values()).items():
            record = None
            if kind in _SCALED:
                record = self._store.collection(_SCALED[kind]).get(f"{budget.namespace}/{name}")
            replicas = (decode(record).get("spec") or {}).get("replicas", 1) if record is not None else count
            expected += int(replicas)
        return expected


def _share(value: int | str, whole: int) -> int:
    """Return how many pods a number or percentage means, rounded up as the controller does."""
    if isinstance(value, int):
        return value
    return math.ceil(int(str(value).removesuffix("%")) * whole / 100)


def _pod(obj: Object, record: Record) -> _Pod:
    healthy = condition_of(obj, "Ready") == "True" and not obj["metadata"].get("deletionTimestamp")
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next(((o.get("kind", ""), o.get("name", "")) for o in owners if o.get("controller")), ("", ""))
    return _Pod(record.namespace, record.labels, healthy, owner)
