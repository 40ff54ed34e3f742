"""AppGroup and NetworkTopology of diktyo-io, and ConfigMap, as far as scheduling looks at them.

Specs and statuses stay as they were written: whoever reads them has to say what is wrong in them, field by field, and
to leave alone what is not his. `poseidon.network` does both.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from poseidon.kube.objects import KubeStruct, ObjectMeta


class AppGroup(KubeStruct, frozen=True):
    """appgroup.diktyo.x-k8s.io AppGroup: the workloads of an application, and who of them talks to whom."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Any = None
    status: Any = None


class NetworkTopology(KubeStruct, frozen=True):
    """networktopology.diktyo.x-k8s.io NetworkTopology: what it costs to talk between regions and zones."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Any = None
    status: Any = None


class ConfigMap(KubeStruct, frozen=True):
    """core/v1 ConfigMap."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = field(default_factory=dict)
