"""Priorities of workloads: which WorkloadPriorityClass a pod's workload names, and the priority that this gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from poseidon.kube.parsing.defects import shorten


class WorkloadPriorities:
    """By pod, the priority class of its workload. ``list_values`` returns the value of each class that exists."""

    def __init__(self, list_values: Callable[[], Mapping[str, int]]) -> None:
        self._list_values = list_values
        self._names: dict[str, str] = {}
        self._waiting: dict[str, None] = {}
        self._own: dict[str, int] = {}

    def put(self, uid: str, name: str) -> None:
        """Note that a pod's workload names a class, "" for none."""
        self._waiting.pop(uid, None)
        if name:
            self._names[uid] = name
        else:
            self._names.pop(uid, None)

    def forget(self, uid: str) -> None:
        """Forget a pod; unknown ones are ignored."""
        self.put(uid, "")
        self._own.pop(uid, None)

    def rank_pod(self, uid: str, own: int) -> int:
        """Return the priority of a pod whose ``own`` is this: its workload's, if that states one."""
        self._own[uid] = own
        return self.find_rank(uid, own)

    def find_rank(self, uid: str, otherwise: int) -> int:
        """Return the same again, as its workload or the classes may have changed; ``otherwise`` if it is not known."""
        return self._list_values().get(self._names.get(uid, ""), self._own.get(uid, otherwise))

    def lacks(self, uid: str) -> bool:
        """Return whether a pod's workload names a class that does not exist."""
        name = self._names.get(uid, "")
        return bool(name) and name not in self._list_values()

    def explain_lack(self, uid: str) -> str:
        """Return the message of a pod that waits for its class, "" for other pods. Who waits is noted."""
        if not self.lacks(uid):
            return ""
        self._waiting[uid] = None
        name = shorten(self._names[uid])
        return f"queue: WorkloadPriorityClass {name} does not exist; create it, or name another one"

    def take_found(self) -> list[str]:
        """Return the pods that have waited for a class that exists now, once."""
        found = [uid for uid in self._waiting if not self.lacks(uid)]
        for uid in found:
            del self._waiting[uid]
        return found
