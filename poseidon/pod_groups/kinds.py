"""The kinds of objects that say which pods go together: their structs, and where they are in the API."""

from __future__ import annotations

from typing import Any, NamedTuple

from poseidon.kube.api import collections
from poseidon.kube.api.pod_groups import NativePodGroup, PodGroup, SigsPodGroup, VolcanoPodGroup, Workload
from poseidon.kube.api.resource import Resource
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
    struct: type[Any]
    resource: Resource[Any]
    version: str

    @property
    def object_kind(self) -> str:
        """The kind that objects of it state."""
        return self.name.partition(" ")[0]

    @property
    def title(self) -> str:
        """What `kubectl get` takes."""
        plural = self.resource.path.rpartition("/")[2]
        return f"{plural}.{self.version.partition('/')[0]}"


GROUP_KINDS = (
    GroupKind(POD_GROUP, PodGroup, collections.POD_GROUPS, "scheduling.x-k8s.io/v1alpha1"),
    GroupKind(WORKLOAD, Workload, collections.WORKLOADS, "scheduling.k8s.io/v1alpha1"),
    GroupKind(NATIVE_POD_GROUP, NativePodGroup, collections.NATIVE_POD_GROUPS, "scheduling.k8s.io/v1beta1"),
    GroupKind(SIGS_POD_GROUP, SigsPodGroup, collections.SIGS_POD_GROUPS, "scheduling.sigs.k8s.io/v1alpha1"),
    GroupKind(
        VOLCANO_POD_GROUP, VolcanoPodGroup, collections.VOLCANO_POD_GROUPS, "scheduling.volcano.sh/v1beta1"
    ),
)
