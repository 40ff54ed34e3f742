"""Defines the place of a pod in a tree of groups."""

from __future__ import annotations

from typing import NamedTuple

from poseidon.pod_rules.redundant_pod_affinity import KeptTerm


class TreePlace(NamedTuple):
    """A pod's place in a tree of groups: the name of its group, and properties of the tree's pods.

    ``never_preempts``: whether the tree's pods must not evict others; ``kept_terms``: their affinities that the
    tree's rules guarantee.
    """

    group: str = ""
    never_preempts: bool = False
    kept_terms: tuple[KeptTerm, ...] = ()


NO_TREE = TreePlace()
