"""Checks which pods really belong to a DaemonSet, because anybody may write an owner reference into a pod."""

from __future__ import annotations

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pods import Pod

DAEMON_SET = "DaemonSet"


def find_daemon_set(pod: Pod) -> OwnerReference | None:
    """Return the DaemonSet that controls a pod, as the pod states it, or None."""
    owner = pod.metadata.controller()
    if owner is None or owner.kind != DAEMON_SET or owner.api_version.partition("/")[0] not in ("apps", ""):
        return None
    return owner


def nobodys(pod: Pod) -> bool:  # noqa: ARG001  # the answer where no DaemonSet is known
    """Return False: no DaemonSet is known, so no DaemonSet owns the pod."""
    return False


class DaemonSets:
    """The DaemonSets that exist.

    Uids, if known, distinguish a DaemonSet from an earlier one with the same name.
    """

    def __init__(self) -> None:
        self._uids: dict[tuple[str, str], str] = {}
        self._names: dict[str, tuple[str, str]] = {}

    def put(self, uid: str, metadata: ObjectMeta) -> None:
        """Add a DaemonSet; if one with this name is known, the new uid replaces the old uid."""
        key = metadata.namespace or "default", metadata.name
        self._names[uid] = key
        self._uids[key] = metadata.uid

    def remove(self, uid: str) -> None:
        """Remove a DaemonSet that does not exist any more; unknown DaemonSets are ignored."""
        key = self._names.pop(uid, None)
        if key is not None and self._uids.get(key) == uid:
            del self._uids[key]

    def owns(self, pod: Pod) -> bool:
        """Return whether an existing DaemonSet in the pod's namespace controls the pod."""
        owner = find_daemon_set(pod)
        if owner is None:
            return False
        uid = self._uids.get((pod.metadata.namespace or "default", owner.name))
        return uid is not None and (not uid or not owner.uid or uid == owner.uid)
