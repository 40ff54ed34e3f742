"""Keeps the owners of pods, and finds the queue and the priority class that a pod or one of its owners names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from poseidon.custom_records import NameIndex
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.queues.options import QueueSource
from poseidon.queues.queue_names import (
    BY_NAMESPACE,
    BY_OWNER,
    KUEUE_PRIORITY,
    Claimant,
    QueueReference,
    read_kueue_queue,
)

_DEEPEST = 8
"""How many levels of owners are followed; a longer chain is treated as a circle."""


class OwnerKey(NamedTuple):
    """The namespace, kind and name of an object that may own pods."""

    namespace: str
    kind: str
    name: str


class Owner(NamedTuple):
    """The properties of an owner that determine the queue of its pods."""

    uid: str
    queue: str
    """The LocalQueue that the owner names, "" for none."""
    controller: OwnerReference | None
    priority_class: str = ""
    """The WorkloadPriorityClass that the owner names, "" for none."""


class Owners:
    """The objects that own pods, and the pods below each of them.

    An object that is deleted before its pods is kept until the last of these pods ends, because the pods count
    against the queue that the object named. If an object is reported as deleted after a newer object with its name
    was added, the newer object stays.
    """

    def __init__(self) -> None:
        self._owners: dict[OwnerKey, Owner] = {}
        self._deleted: defaultdict[OwnerKey, dict[str, Owner]] = defaultdict(dict)
        """The deleted owners of each name, by uid, the latest one last."""
        self._names = NameIndex()
        self._above: dict[str, tuple[OwnerKey, ...]] = {}
        self._below: defaultdict[OwnerKey, set[str]] = defaultdict(set)

    def put(self, kind: str, uid: str, metadata: ObjectMeta) -> OwnerKey | None:
        """Add or update an object; return its key if its properties in ``Owner`` have changed, else None."""
        key = OwnerKey(metadata.namespace or "default", kind, metadata.name)
        stated = metadata.labels.get(KUEUE_PRIORITY, "")
        owner = Owner(metadata.uid, read_kueue_queue(metadata), metadata.controller(), stated)
        self._names.put(uid, "/".join(key))
        former = self._owners.get(key)
        if former == owner:
            return None
        if former is not None and former.uid != owner.uid:
            self._remember(key, former)
        self._owners[key] = owner
        return key

    def remove(self, uid: str) -> OwnerKey | None:
        """Mark an object as deleted; return its key, None if it is unknown or a newer object has its name."""
        name = self._names.remove(uid)
        if not name:
            return None
        key = OwnerKey(*name.split("/"))
        self._remember(key, self._owners.pop(key))
        return key

    def _remember(self, key: OwnerKey, owner: Owner) -> None:
        if key in self._below:
            self._deleted[key][owner.uid] = owner

    def put_pod(self, uid: str, claimant: Claimant) -> None:
        """Add a pod, or update the owners of a pod."""
        above = tuple(key for key, _ in self.iter_above(claimant.namespace, claimant.controller))
        former = self._above.pop(uid, ())
        if above:
            self._above[uid] = above
        for key in above:
            self._below[key].add(uid)
        self._leave(uid, set(former).difference(above))

    def remove_pod(self, uid: str) -> None:
        """Remove a pod from below its owners; unknown pods are ignored."""
        self._leave(uid, self._above.pop(uid, ()))

    def _leave(self, uid: str, keys: Iterable[OwnerKey]) -> None:
        for key in keys:
            self._below[key].discard(uid)
            if not self._below[key]:
                del self._below[key]
                self._deleted.pop(key, None)

    def list_pods(self, key: OwnerKey) -> list[str]:
        """Return the uids of the pods that an object owns, directly or not."""
        return list(self._below.get(key, ()))

    def iter_above(
        self, namespace: str, controller: OwnerReference | None
    ) -> Iterator[tuple[OwnerKey, Owner | None]]:
        """Yield an object's controller, the controller's controller, and so on; an unknown last ``Owner`` is None."""
        for _ in range(_DEEPEST):
            if controller is None:
                return
            key = OwnerKey(namespace, controller.kind, controller.name)
            owner = self._find(key, controller.uid)
            yield key, owner
            controller = owner.controller if owner is not None else None

    def _find(self, key: OwnerKey, uid: str) -> Owner | None:
        """Return the owner with this key and uid, the latest owner if ``uid`` is ""; None if no such owner is known."""
        owner = self._owners.get(key)
        deleted = self._deleted.get(key, {})
        if owner is None and not uid:
            return next(reversed(deleted.values()), None)
        if owner is not None and not (uid and owner.uid and owner.uid != uid):
            return owner
        return deleted.get(uid)


def find_reference(
    claimant: Claimant, sources: tuple[QueueSource, ...], owners: Owners
) -> QueueReference | None:
    """Return the queue of a pod in the first of ``sources`` that has a queue for the pod; None if no project has one.

    A queue that the pod or an owner names takes precedence over the queue of the namespace.
    """
    namespace, named, controller, _ = claimant
    names = dict(named)
    if controller is not None:
        above = (owner.queue for _, owner in owners.iter_above(namespace, controller) if owner is not None)
        found = next(filter(None, above), "")
        names.update({source: found for source in BY_OWNER if found and source not in names})
    for source in sources:
        if source in names:
            return QueueReference(source, namespace, names[source])
    by_namespace = next((source for source in sources if source in BY_NAMESPACE), None)
    return QueueReference(by_namespace, namespace, "") if by_namespace is not None else None


def find_priority_class(claimant: Claimant, owners: Owners) -> str:
    """Return the WorkloadPriorityClass that a pod names, or else its topmost owner; "" for none."""
    if claimant.priority_class or claimant.controller is None:
        return claimant.priority_class
    above = owners.iter_above(claimant.namespace, claimant.controller)
    named = [owner.priority_class for _, owner in above if owner is not None and owner.priority_class]
    return named[-1] if named else ""
