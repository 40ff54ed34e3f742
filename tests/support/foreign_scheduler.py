"""Another scheduler at work in the same cluster: it binds the pods that name it, by a picture that is a little old.

It is as careful as its picture allows: it takes nodes with room for what it knows of. Between two looks it knows of
nothing but its own bindings, so that it gets in the way of others as real schedulers do.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.controllers.node_rules import Amounts, amounts, sum_requests
from poseidon.testbed.objects.binding import Binding, bind, decode_binding
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.store import Store, decode

if TYPE_CHECKING:
    from poseidon.testbed.objects.history import Record

Object = dict[str, Any]


class ForeignScheduler:
    """Schedules the pods whose ``spec.schedulerName`` is ``name``.

    It looks at the cluster every ``interval`` seconds, binds at most ``pace`` pods between two looks, and draws among
    the nodes with room by a ``seed``. Free of I/O and of time, like the kubelets: it is told the time.
    """

    def __init__(
        self, store: Store, name: str, *, interval: float = 0.05, pace: int = 10, seed: int = 1
    ) -> None:
        if interval <= 0 or pace < 1:
            raise ValueError(f"foreign scheduler {name}: interval and pace must be positive")
        self.name = name
        self.bound = 0
        self._store = store
        self._interval = interval
        self._pace = pace
        self._random = random.Random(seed)
        self._nodes = store.collection("nodes")
        self._pods = store.collection("pods")
        self._followed = Follower(self._pods)
        self._waiting: dict[str, Record] = {}
        self._charged: dict[str, tuple[str, Amounts]] = {}
        self._next = float("-inf")

    def advance(self, now: float) -> float:
        """Look and bind if it is time; returns when it is time again."""
        if now >= self._next:
            self._look()
            self._schedule()
            self._next = now + self._interval
        return self._next

    def _look(self) -> None:
        anew, changes = self._followed.take_changes()
        if anew:
            self._waiting.clear()
            self._charged.clear()
        for gone, record in changes:
            self._waiting.pop(record.key, None)
            self._charged.pop(record.uid, None)
            if gone:
                continue
            fields = dict(zip(self._pods.field_names, record.fields, strict=True))
            if fields["status.phase"] in ("Succeeded", "Failed"):
                continue
            node = fields["spec.nodeName"]
            if node:
                self._charged[record.uid] = (node, sum_requests(decode(record)["spec"]))
            elif fields["spec.schedulerName"] == self.name:
                self._waiting[record.key] = record

    def _schedule(self) -> None:
        free = self._free()
        for key, record in list(self._waiting.items())[: self._pace]:
            needs = sum_requests(decode(record)["spec"])
            candidates = sorted(
                name
                for name, left in free.items()
                if all(left.get(resource, 0) >= amount for resource, amount in needs.items())
            )
            if not candidates:
                continue
            node = self._random.choice(candidates)
            try:
                bind(self._store, record.namespace, record.name, _binding(node))
            except ApiError:
                # Deleted meanwhile; the next look shows what is true.
                del self._waiting[key]
                continue
            self.bound += 1
            del self._waiting[key]
            self._charged[record.uid] = (node, needs)
            for resource, amount in needs.items():
                free[node][resource] -= amount

    def _free(self) -> dict[str, Amounts]:
        free = {
            node["metadata"]["name"]: amounts((node.get("status") or {}).get("allocatable"))
            for node in self._store.objects(self._nodes)
        }
        for node, needs in self._charged.values():
            left = free.get(node, {})
            for resource, amount in needs.items():
                left[resource] = left.get(resource, 0) - amount
        return free


def _binding(node: str) -> Binding:
    return decode_binding(b'{"target":{"kind":"Node","name":"%b"}}' % node.encode())
