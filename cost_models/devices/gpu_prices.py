"""Charges a task for the free shares of devices that usual tasks can no longer use, at prices of a linear program.

A machine's room is worth the devices that usual tasks could fill in the end if they keep coming, and no other
devices:

    V = sum over its devices of value(free share) - shortage          in devices

*Values* come from the prices of parts in a cutting stock problem (`gap_values`): a share into which no usual part
fits is worth nothing, and a share that two usual parts fill is worth what they use. Breaking a whole device for a
part costs as much as the part itself uses up; a free share that the part fills without loss costs no more.
Fragmentation Gradient Descent (`usable_shares`) counts what the next task could use; prices count what all that come
after can fill together.

*The shortage* is the number of devices that cannot be filled for lack of another resource, such as cpu. Tasks that
fill G devices need an uncertain amount D of it: rate x G on average, with a variance of spread^2 x G, where rate and
spread are those of the usual tasks that the machine is open to; where resources are scarce, the rate has a margin
(`find_margin`). As in the newsvendor's problem, E[max(0, D - free)] is lacking, and

    shortage = E[max(0, D - free)] / rate         of the resource for which that is most

Tasks that need much of a resource therefore go where the resource is plentiful compared with the free devices, and
tasks without devices go where devices are taken already. (x + sqrt(x^2 + (c s)^2)) / 2 approximates the expectation,
with x = the mean of D - free and s its deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.devices.columns import DeviceView, read_names_and_usual_pods
from cost_models.devices.gap_values import CELLS, count_cells, value_gaps
from cost_models.devices.known_losses import KnownLosses
from cost_models.devices.losses import assess_losses
from cost_models.devices.usable_shares import Room, UsualTasks
from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Range,
    ShapeBatch,
)

MARGIN = 1.1
"""How much more of a scarce resource than usual tasks need is kept, at most, for each free device, see `find_margin`.

In a simulation of openb, this value allocates up to 1.9 percentage points more than no margin; 1.15 allocates 0.3
less.
"""
AMPLE = 1.3
"""How many times the need of all usual tasks a machine must have for the margin to be 1.

In that simulation, a margin everywhere allocates 0.1 points less where pods ask for models of GPUs, and elsewhere at
most 0.05 more.
"""
CAUTION = 0.1
"""c: over how many deviations of D the shortage begins. 0.8 is exact at x = 0; on openb 0.05 to 0.2 allocate most."""


class GpuPrices(BaseModel):
    """Charges a task for the amount by which it lowers the worth of a machine's free devices."""

    name = "gpu_prices"
    kind = "overlay"
    range = Range(best=0, worst=1, bounded=False)

    def __init__(self, **args: Any) -> None:
        names, self._stated = read_names_and_usual_pods(self.name, args)
        self._resources = names.resources
        self._known = KnownLosses()
        self.needs = Needs(devices=names.drivers, typical=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the worth that is lost, in devices: float64[S, M]; 0 on machines without any.

        In a small round, machines with devices have a growth of `losses.GROWTH`.
        """
        return assess_losses(
            machines,
            shapes,
            self._resources,
            self._stated,
            learn_worth,
            self._known,
        )


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of free devices and resources for the usual tasks."""

    values: Float64
    """float64[N, CELLS + 1], by kind of device: the worth of so many free cells of one device."""
    rate: Float64
    """float64[D, R], the amount of each resource to keep for each device that tasks fill; 0: none."""
    spread: Float64
    """float64[D, R], the deviation of the need for one device.

    For G devices, the deviation is the square root of G times as much.
    """

    def judge(self, room: Room, rows: Int64) -> Float64:
        """Return the worth V of the free devices and resources of the machines in these rows: float64[rows]."""
        cells = count_cells(np.ascontiguousarray(room.shares.T))
        filled = self.values[room.kind, cells].sum(axis=0)
        short = np.zeros(len(filled))
        for column in np.flatnonzero(self.rate.any(axis=0)).tolist():
            rate, spread = self.rate[rows, column], self.spread[rows, column]
            lacking = rate * filled - room.amounts[:, column]
            expected = (lacking + np.sqrt(lacking**2 + (CAUTION * spread) ** 2 * filled)) / 2
            short = np.maximum(short, np.divide(expected, rate, out=np.zeros(len(rate)), where=rate > 0))
        worth: Float64 = np.maximum(filled - short, 0.0)
        return worth

    def find_basis(self) -> tuple[bytes, tuple[NDArray[Any], ...]]:
        """Return the values of free cells, and as columns, the amounts to keep and their deviations."""
        return self.values.tobytes(), (self.rate, self.spread)


def learn_worth(view: DeviceView, usual: UsualTasks) -> Worth:
    """Return the prices of free devices and resources, learned from the usual tasks.

    A task counts on each machine that it may come to by its popularity, divided by the number of devices there are on
    such machines.
    """
    kinds = usual.count.shape[1]
    values = np.zeros((kinds, CELLS + 1))
    most_filled = np.zeros(len(usual.popularity))
    rate = np.zeros((len(view.rows), len(view.columns)))
    spread = np.zeros(rate.shape)
    served = (usual.count > 0) & np.isfinite(usual.share)
    open_to = usual.allowed & served[:, view.room.kind]
    open_to &= usual.count[:, view.room.kind] <= view.size
    weight = usual.popularity / np.maximum(open_to @ view.size, 1)
    for kind in np.unique(view.room.kind).tolist():
        values[kind], filled = _value_kind(usual, np.flatnonzero(served[:, kind]), kind)
        most_filled = np.maximum(most_filled, filled)
        rows = np.flatnonzero(view.room.kind == kind)
        comes = open_to[:, rows].T * weight
        total = np.maximum(comes @ filled, np.finfo(np.float64).tiny)[:, None]
        mean = (comes @ usual.requests) / total
        square = comes @ usual.requests.astype(np.float64) ** 2
        mixed = comes @ (usual.requests * filled[:, None])
        rest = (square - 2 * mean * mixed) / total + mean**2 * ((comes @ filled**2)[:, None] / total)
        rate[rows], spread[rows] = mean, np.sqrt(np.maximum(rest, 0.0))
    return Worth(values, rate * find_margin(view.room, usual, values, most_filled), spread)


def find_margin(room: Room, usual: UsualTasks, values: Float64, filled: Float64) -> float:
    """Return the factor by which more of each resource is kept than the usual tasks that take devices need.

    The margin is 1 if the machine has, of each resource, `AMPLE` times what *all* usual tasks need (those without
    devices, too) that come until the devices are filled. It grows up to `MARGIN` if some resource is scarcer.
    ``filled``: float64[T], the devices that each usual task fills.
    """
    gaps = values[room.kind, count_cells(np.ascontiguousarray(room.shares.T))].sum()
    coming = gaps / max(float(usual.popularity @ filled), 1e-12)
    needed = coming * (usual.popularity @ usual.requests)
    there = room.amounts.sum(axis=0)
    scarce = np.divide(needed, there, out=np.where(needed > 0, np.inf, 0.0), where=there > 0)
    return float(np.clip(AMPLE * scarce.max(initial=0.0), 1.0, MARGIN))


def _value_kind(usual: UsualTasks, tasks: Int64, kind: int) -> tuple[Float64, Float64]:
    """Return the value of free cells of a kind of device, and how many devices each task fills: float64[T]."""
    demand: dict[int, float] = {}
    cells = dict(zip(tasks.tolist(), count_cells(usual.share[tasks, kind]).tolist(), strict=True))
    for task, size in cells.items():
        demand[size] = demand.get(size, 0.0) + float(usual.popularity[task] * usual.count[task, kind])
    values = value_gaps(demand)
    filled = np.zeros(len(usual.popularity))
    for task, size in cells.items():
        filled[task] = usual.count[task, kind] * values[size]
    return values, filled
