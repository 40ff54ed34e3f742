"""Keeps which pods use each claim, and on which machines."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TypeAlias

Rank: TypeAlias = tuple[int, float, str]
"""Sort key of pods that wait for one claim: negated priority, time of creation, uid. The smallest gets the claim."""


def compute_rank(priority: int, created: float, uid: str) -> Rank:
    """Return the rank of a pod among the pods that wait for one claim."""
    return (-priority, created, uid)


class Users:
    """The uids of pods that use each claim.

    Most claims have one user, so a set of users is created only for claims with several.
    """

    def __init__(self) -> None:
        self._users: dict[str, str | set[str]] = {}

    def add(self, key: str, uid: str) -> None:
        """Add a user (uid) to a claim."""
        known = self._users.get(key)
        if known is None or known == uid:
            self._users[key] = uid
        elif isinstance(known, set):
            known.add(uid)
        else:
            self._users[key] = {known, uid}

    def remove(self, key: str, uid: str) -> None:
        """Remove a user of a claim."""
        known = self._users.get(key)
        if isinstance(known, set):
            known.discard(uid)
            if not known:
                del self._users[key]
        elif known == uid:
            del self._users[key]

    def has_several(self, key: str) -> bool:
        """Return whether more than one pod uses a claim."""
        return isinstance(known := self._users.get(key), set) and len(known) > 1

    def list_users(self, key: str) -> AbstractSet[str]:
        """Return the uids of the pods that use a claim."""
        known = self._users.get(key)
        if known is None:
            return frozenset()
        return known if isinstance(known, set) else {known}


class Holders:
    """The holder of each claim on each machine: the one pod whose requests include the attachment of the volume.

    Among the pods on a machine that use a claim, the pod with the lowest uid is the holder, so that the order of events
    does not matter.
    """

    def __init__(self) -> None:
        self._placed: dict[tuple[str, str], list[str]] = {}
        self._on: dict[str, dict[str, None]] = {}

    def add(self, key: str, node: str, uid: str) -> Iterable[str]:
        """Add a placed user of a claim; return the uids of pods that become its holder, or no longer are."""
        there = self._placed.setdefault((key, node), [])
        if uid in there:
            return ()
        self._on.setdefault(node, {})[key] = None
        first = not there or uid < there[0]
        before = there[:1]
        there.insert(0 if first else len(there), uid)
        return (*before, uid) if first else ()

    def remove(self, key: str, node: str, uid: str) -> Iterable[str]:
        """Remove a user that has left; return the uids of pods that become the claim's holder, or no longer are."""
        there = self._placed.get((key, node), [])
        if uid not in there:
            return ()
        held = there[0] == uid
        there.remove(uid)
        if not there:
            del self._placed[key, node]
            del self._on[node][key]
            if not self._on[node]:
                del self._on[node]
            return (uid,)
        if not held:
            return ()
        there.sort()
        return (uid, there[0])

    def list_claims(self, node: str) -> Iterable[str]:
        """Return the claims that pods on a machine use."""
        return self._on.get(node, ())

    def is_shared(self, key: str, node: str) -> bool:
        """Return whether several pods on a machine use a claim."""
        return len(self._placed.get((key, node), ())) > 1

    def holds(self, key: str, node: str, uid: str) -> bool:
        """Return whether a placed pod is the holder of a claim on its machine."""
        there = self._placed.get((key, node))
        return there is not None and there[0] == uid
