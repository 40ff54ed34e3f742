"""Names the place of a pod in a tree of groups."""

from __future__ import annotations

from typing import NamedTuple

from poseidon.pod_rules.kept_terms import KeptTerm


class TreePlace(NamedTuple):
    """A pod's place in a tree of groups: the name of its group there, whether the tree's pods must not evict others,
    and the affinities that the tree keeps for them.
    """

    group: str = ""
    never_preempts: bool = False
    kept_terms: tuple[KeptTerm, ...] = ()


NO_TREE = TreePlace()
