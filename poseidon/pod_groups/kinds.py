"""The kinds of objects that say which pods go together, as gangs call them."""

from __future__ import annotations

from typing import Any, NamedTuple

from poseidon.kube.api import kinds
from poseidon.kube.api.kinds import WatchedKind
from poseidon.pod_groups.membership import (
    NATIVE_POD_GROUP,
    POD_GROUP,
    SIGS_POD_GROUP,
    VOLCANO_POD_GROUP,
    WORKLOAD,
)


class GroupKind(NamedTuple):
    """``name``: as `ObjectKey` has it; ``version``: the API version under which events name an object of it."""

    name: str
    kind: WatchedKind
    version: str

    @property
    def struct(self) -> type[Any]:
        """What objects of it decode to."""
        return self.kind.struct

    @property
    def object_kind(self) -> str:
        """The kind that objects of it state."""
        return self.kind.name

    @property
    def title(self) -> str:
        """What `kubectl get` takes."""
        return f"{self.kind.plural}.{self.kind.group}"


GROUP_KINDS = (
    GroupKind(POD_GROUP, kinds.POD_GROUP, "scheduling.x-k8s.io/v1alpha1"),
    GroupKind(WORKLOAD, kinds.WORKLOAD, "scheduling.k8s.io/v1alpha1"),
    GroupKind(NATIVE_POD_GROUP, kinds.NATIVE_POD_GROUP, "scheduling.k8s.io/v1beta1"),
    GroupKind(SIGS_POD_GROUP, kinds.SIGS_POD_GROUP, "scheduling.sigs.k8s.io/v1alpha1"),
    GroupKind(VOLCANO_POD_GROUP, kinds.VOLCANO_POD_GROUP, "scheduling.volcano.sh/v1beta1"),
)
