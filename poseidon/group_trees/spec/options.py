"""What the configuration says about topology groups."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_NAMESPACE = "default"
"""Where the ConfigMap with the tree is, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """``overlay``: the solver places groups by the tree. ``namespace``: where the tree's ConfigMap is.

    ``node_labels``: keys of node labels, top to bottom, that give the tree where no ConfigMap does.
    """

    overlay: bool = False
    namespace: str = DEFAULT_NAMESPACE
    node_labels: tuple[str, ...] = ()
