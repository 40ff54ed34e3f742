"""A small cluster in every form in which the interface takes one."""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.interface import Assessment, BaseModel, MachineColumns, Promises, Range, ShapeBatch


def node(name: str, cpu: str = "4", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    }


def pod(name: str, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


class Price(BaseModel):
    """Charges what a node's label says."""

    name = "price"
    kind = "overlay"
    range = Range(best=0.0, worst=100.0)
    promises = Promises(per_machine=True)

    def __init__(self, label: str = "price") -> None:
        self._label = label

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """The same for every shape."""
        row = np.array([float(labels.get(self._label, "100")) for labels in machines.labels])
        return Assessment(raw=np.tile(row, (shapes.count, 1)))


class PricePolicy(Price):
    """The same as a base policy."""

    name = "price_policy"
    kind = "policy"  # type: ignore[assignment]  # the overlay above is one in this test alone
