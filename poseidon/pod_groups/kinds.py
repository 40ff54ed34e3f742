"""Lists the watched kinds of objects that describe groups, by the kind in ``ObjectKey``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from poseidon.kube.api import kinds
from poseidon.kube.api.kinds import WatchedKind
from poseidon.pod_groups.group_names import (
    COMPOSITE_POD_GROUP,
    KAI_POD_GROUP,
    NATIVE_POD_GROUP,
    POD_GANG,
    POD_GROUP,
    SIGS_POD_GROUP,
    VOLCANO_POD_GROUP,
    WORKLOAD,
)

GROUP_KINDS: Mapping[str, WatchedKind] = MappingProxyType(
    {
        POD_GROUP: kinds.POD_GROUP,
        WORKLOAD: kinds.WORKLOAD,
        COMPOSITE_POD_GROUP: kinds.COMPOSITE_POD_GROUP,
        NATIVE_POD_GROUP: kinds.NATIVE_POD_GROUP,
        SIGS_POD_GROUP: kinds.SIGS_POD_GROUP,
        VOLCANO_POD_GROUP: kinds.VOLCANO_POD_GROUP,
        KAI_POD_GROUP: kinds.KAI_POD_GROUP,
        POD_GANG: kinds.POD_GANG,
    }
)
"""Watched kinds by the kind in ``ObjectKey``."""
