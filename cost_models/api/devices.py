"""Devices such as GPUs as cost models see them: the free share of each, and what tasks take of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cost_models.api.arrays import Float64, Int64


@dataclass(frozen=True, slots=True)
class DeviceColumns:
    """The free shares of the devices of M machines; read-only.

    Devices are of N kinds; all devices of a machine that count are of one kind, that of the first device.
    """

    kind: Int64
    """int64[M], -1 for machines without devices."""
    free: Float64
    """float64[M, G], the share of each device that is free, 0 to 1, in the drivers' order; 0 where there is none.

    If a device has several capacities, the least of their free shares counts.
    """
    count: Int64
    """int64[M], how many devices each machine has."""

    def select(self, rows: Int64) -> DeviceColumns:
        """Return the columns of the machines in ``rows`` (int64[C])."""
        return DeviceColumns(self.kind[rows], self.free[rows], self.count[rows])


@dataclass(frozen=True, slots=True)
class DeviceDemand:
    """The devices of each of N kinds that a task of each of S shapes takes; read-only."""

    count: Int64
    """int64[S, N], how many devices; 0: none."""
    share: Float64
    """float64[S, N], which share of each device a task takes, above 0 to 1.

    Infinite where the kind does not serve the shape; 0 for shapes that take no devices.
    """

    def select(self, shapes: Int64) -> DeviceDemand:
        """Return the demand of the given shapes (int64[A])."""
        return replace(self, count=self.count[shapes], share=self.share[shapes])
