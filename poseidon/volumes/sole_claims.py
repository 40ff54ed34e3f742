"""Claims for one pod at a time (``ReadWriteOncePod``) that several pods want: which wait, and which may make
way.

Of waiting pods, the first in rank gets the claim first. A pod that has a place keeps the claim, unless a pod
of a higher priority wants it: that pod may come to the same node once the other has been evicted, as with
kube-scheduler. For the solver such a claim is a disk that no two tasks of a machine may have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from poseidon.volumes.claims import Rank


class User(Protocol):
    """A pod that uses a claim. ``place`` is where it runs or is being bound to, "" while it waits."""

    rank: Rank
    place: str


Rivals = Iterable[tuple[str, User]]
"""The other users of the claims of a pod that are for one pod at a time, each with the claim (``namespace/name``)."""


def leaves_claims(pod: User, rivals: Rivals) -> bool:
    """Return whether a pod that waits has to leave a claim to another pod, and nobody can make way for it."""
    rivals = list(rivals)
    earlier = any(not rival.place and rival.rank < pod.rank for _, rival in rivals)
    placed = [rival for _, rival in rivals if rival.place]
    lasting = any(_priority(rival) >= _priority(pod) for rival in placed)
    return earlier or lasting or len({rival.place for rival in placed}) > 1


def list_contested(pod: User, rivals: Rivals) -> set[str]:
    """Return the claims that a pod contests with others: either has a place, and the other is more important."""
    return {
        key
        for key, rival in rivals
        if (_priority(rival) < _priority(pod) and rival.place)
        or (_priority(rival) > _priority(pod) and pod.place)
    }


def node_of_holders(pod: User, rivals: Rivals) -> str:
    """Return the node of the pods that hold the claims of a pod and may make way for it, "" for none.

    A pod that has a place itself is not sent elsewhere.
    """
    nodes = {rival.place for _, rival in rivals if rival.place and _priority(rival) < _priority(pod)}
    return next((node for node in sorted(nodes) if pod.place in ("", node)), "")


def _priority(user: User) -> int:
    return -user.rank[0]
