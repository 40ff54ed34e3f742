"""What tasks of groups are told: which rule keeps their group out, and which machines are not in the tree."""

from __future__ import annotations

from collections.abc import Mapping

from cost_models.interface import Bool
from firmament.core.snapshot.snapshot import Snapshot


def shortage(snapshot: Snapshot, shortages: Mapping[int, str], index: int) -> str:
    """Why the group of a class of the snapshot found no place; empty if it did, or if the class has no such group."""
    if not len(snapshot.problem.gang):
        return ""
    return shortages.get(int(snapshot.problem.gang[index]), "")


def outside_tree(snapshot: Snapshot, index: int) -> Bool | None:
    """bool[M] of the snapshot: machines that are not in the tree; None for classes without a group."""
    terms = snapshot.problem.topology
    if terms is None or int(snapshot.problem.gang[index]) not in terms.groups:
        return None
    outside: Bool = terms.position >= terms.tree.leaves
    return outside
