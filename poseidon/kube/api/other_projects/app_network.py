"""Defines diktyo-io's AppGroup and NetworkTopology, and ConfigMap, with the fields that a scheduler reads.

Specs and statuses stay as people wrote them: `poseidon.app_network` reports each faulty field, and leaves
other programs' fields alone.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.parsing.readable import MAX_DEPTH


class _FreeForm(KubeStruct, frozen=True):
    """An object whose spec and status are values of any shape, with limited depth."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Any = None
    status: Any = None

    def __post_init__(self) -> None:
        if _is_deep([self.spec, self.status]):
            raise ValueError("spec or status is nested too deeply; make it flatter")


class AppGroup(_FreeForm, frozen=True):
    """appgroup.diktyo.x-k8s.io AppGroup: the workloads of an application, and which of them communicate."""


class NetworkTopology(_FreeForm, frozen=True):
    """networktopology.diktyo.x-k8s.io NetworkTopology: the cost of traffic between regions and zones."""


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
