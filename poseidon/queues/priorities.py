"""Keeps the WorkloadPriorityClass of each pod's workload, and returns the priority that it gives to the pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from poseidon.kube.parsing.defects import shorten


class WorkloadPriorities:
    """The WorkloadPriorityClasses of pods' workloads; ``list_values`` returns the value of each class."""

    def __init__(self, list_values: Callable[[], Mapping[str, int]]) -> None:
        self._list_values = list_values
        self._names: dict[str, str] = {}
        self._waiting: dict[str, None] = {}
        self._own: dict[str, int] = {}

    def put(self, uid: str, name: str) -> None:
        """Set the WorkloadPriorityClass that a pod's workload names, "" for none."""
        self._waiting.pop(uid, None)
        if name:
            self._names[uid] = name
        else:
            self._names.pop(uid, None)

    def forget(self, uid: str) -> None:
        """Remove a pod; unknown pods are ignored."""
        self.put(uid, "")
        self._own.pop(uid, None)

    def rank_pod(self, uid: str, own: int) -> int:
        """Return a pod's priority: its workload's if the workload names a known class, else ``own``, which is kept."""
        self._own[uid] = own
        return self.find_rank(uid, own)

    def find_rank(self, uid: str, otherwise: int) -> int:
        """Return a pod's priority: its workload's, else the one last given to ``rank_pod``, else ``otherwise``."""
        return self._list_values().get(self._names.get(uid, ""), self._own.get(uid, otherwise))

    def lacks(self, uid: str) -> bool:
        """Return whether a pod's workload names a priority class that does not exist."""
        name = self._names.get(uid, "")
        return bool(name) and name not in self._list_values()

    def explain_lack(self, uid: str) -> str:
        """Return why a pod waits for a missing priority class, "" if it does not.

        ``take_found`` returns the pod once the class exists.
        """
        if not self.lacks(uid):
            return ""
        self._waiting[uid] = None
        name = shorten(self._names[uid])
        return f"queue: WorkloadPriorityClass {name} does not exist; create it, or name another one"

    def take_found(self) -> list[str]:
        """Return the pods that have waited for a priority class that now exists, each only once."""
        found = [uid for uid in self._waiting if not self.lacks(uid)]
        for uid in found:
            del self._waiting[uid]
        return found
