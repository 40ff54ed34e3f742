"""AppGroup and NetworkTopology of diktyo-io, and ConfigMap, as far as scheduling looks at them.

Specs and statuses stay as they were written: whoever reads them has to say what is wrong in them, field by field, and
to leave alone what is not his. `poseidon.app_network` does both.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.parsing.readable import MAX_DEPTH


class _FreeForm(KubeStruct, frozen=True):
    """An object whose spec and status are values of any shape, but none so deep that it cannot be gone through."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Any = None
    status: Any = None

    def __post_init__(self) -> None:
        if _is_deep([self.spec, self.status]):
            raise ValueError("spec or status is nested too deeply; make it flatter")


class AppGroup(_FreeForm, frozen=True):
    """appgroup.diktyo.x-k8s.io AppGroup: the workloads of an application, and who of them talks to whom."""


class NetworkTopology(_FreeForm, frozen=True):
    """networktopology.diktyo.x-k8s.io NetworkTopology: what it costs to talk between regions and zones."""


class ConfigMap(KubeStruct, frozen=True):
    """core/v1 ConfigMap."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = field(default_factory=dict)


def _is_deep(values: list[Any]) -> bool:
    for _ in range(MAX_DEPTH + 1):
        values = [
            below
            for each in values
            if isinstance(each, dict | list)
            for below in (each.values() if isinstance(each, dict) else each)
        ]
        if not values:
            return False
    return True
