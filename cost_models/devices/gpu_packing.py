"""Packs devices: prefers machines with few free devices and, for tasks without devices, machines without any.

Source: the GPU packing with which FGD (see `usable_shares`) is compared: machines whose devices are in use already go
before untouched ones, so that whole machines stay free for tasks that need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.devices.columns import make_device_view, read_names
from cost_models.interface import Assessment, BaseModel, MachineColumns, Needs, Range, ShapeBatch


class GpuPacking(BaseModel):
    """Charges for the free shares of a machine's devices."""

    name = "gpu_packing"
    kind = "overlay"
    range = Range(best=0, worst=8, bounded=False)

    def __init__(self, **args: Any) -> None:
        drivers, self._resources = read_names(self.name, args)
        self.needs = Needs(devices=drivers)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the sum of the free shares of a machine's devices: the same row for all shapes (float64[S, M])."""
        row = np.zeros(machines.count)
        view = make_device_view(machines, self._resources)
        row[view.rows] = view.room.shares.sum(axis=1)
        return Assessment(raw=np.broadcast_to(row, (shapes.count, machines.count)))
