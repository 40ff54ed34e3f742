"""Decides which of several pods may use a claim for one pod at a time (``ReadWriteOncePod``), and which wait.

Among waiting pods, the first in rank gets the claim first. A pod that has a node keeps the claim, unless a pod of a
higher priority needs it: as with kube-scheduler, the more important pod may go to the same node after the first pod
was evicted. For the solver such a claim is a disk that two tasks of a machine cannot use at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from poseidon.volumes.claims import Rank


class User(Protocol):
    """A pod that uses a claim.

    ``place`` is the node where the user runs or to which it is being bound, "" while it waits.
    """

    rank: Rank
    place: str


Rivals = Iterable[tuple[str, User]]
"""The other users of a pod's claims for one pod at a time: pairs of claim (``namespace/name``) and user."""


def leaves_claims(pod: User, rivals: Rivals) -> bool:
    """Return whether a waiting pod must leave a claim to another pod, which ranks before it or may not be evicted."""
    rivals = list(rivals)
    earlier = any(not rival.place and rival.rank < pod.rank for _, rival in rivals)
    placed = [rival for _, rival in rivals if rival.place]
    lasting = any(_priority(rival) >= _priority(pod) for rival in placed)
    return earlier or lasting or len({rival.place for rival in placed}) > 1


def list_contested(pod: User, rivals: Rivals) -> set[str]:
    """Return the claims because of which a pod may evict another user, or another user may evict it."""
    return {
        key
        for key, rival in rivals
        if (_priority(rival) < _priority(pod) and rival.place)
        or (_priority(rival) > _priority(pod) and pod.place)
    }


def node_of_holders(pod: User, rivals: Rivals) -> str:
    """Return the node of pods that use a pod's claims and may be evicted for it, "" for none.

    If the pod has a node itself, only that node is considered.
    """
    nodes = {rival.place for _, rival in rivals if rival.place and _priority(rival) < _priority(pod)}
    return next((node for node in sorted(nodes) if pod.place in ("", node)), "")


def _priority(user: User) -> int:
    return -user.rank[0]
