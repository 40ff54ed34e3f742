"""Coordinated co-location: tasks keep away from neighbours that slow them down, and from loaded machines.

Source: Firmament's CoCo cost model. Per machine, with one processing unit each as in Kubernetes, a task of type U pays

    sum over residents of penalty[their type][U]          on the arc to the machine
  + S * e^(busy / slots), S = sum over residents of all four penalties of their type
  + load = sum over dimensions of 1000 * taken / capacity, 0 where a machine has none of a dimension.

The original charged S on the arc to the processing unit, and S * e^(busy / total) - S on the arc to the machine; S *
e^(busy / slots) is their sum. The dimensions are cpu, memory, disk and network; the original counted incoming and
outgoing traffic separately. ``taken`` is the larger of what residents have reserved and what is measured, because a
sample does not contain later reservations.

Some parts of the original are left to the scheduler. The scheduler's exact check of what fits replaces strict
reservations and the capacities of arcs. The scheduler's cost of leaving a task unscheduled, which exceeds any
placement and grows with wait and priority, replaces the original's priorities and its arcs task -> unscheduled. The
original also charged the request as a share of the largest machine; that was the same on every machine, and is left
out. This model mends one fault of the original:

* In the original, tasks of one round knew nothing of each other's load and penalties, so a batch of devils and
  rabbits landed together. The model lets load and penalties grow with each task that a round puts on a machine, and a
  forecast keeps types apart: it divides the machines among groups of the waiting types, and a task pays the penalties
  of the neighbours that it will probably have. The forecast changes costs only; it forbids no machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.arguments import Arguments
from cost_models.firmament_policies.forecast import forecast_tasks
from cost_models.firmament_policies.task_types import LABEL, TYPES, TaskType, resident_counts, types_of
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

DIMENSIONS = ("cpu", "memory", "ephemeral-storage", "network.aware.com/bandwidth")
OMEGA = 1000.0
"""Cost of a dimension of which nothing is left."""

PENALTIES = np.array(
    [  # turtle, sheep, rabbit, devil: the newcomer
        [50.0, 50.0, 50.0, 50.0],  # turtle: the resident
        [10.0, 50.0, 100.0, 200.0],
        [10.0, 50.0, 200.0, 1000.0],
        [10.0, 200.0, 1000.0, 200.0],
    ]
)
"""float64[TYPES, TYPES]: what a newcomer (column) pays for a resident (row)."""
PENALTIES.setflags(write=False)


class Coco(BaseModel):
    """Charges for interference between the tasks of a machine, and for load in several dimensions.

    Argument ``dimensions``: the resources whose load counts (cpu, memory, ephemeral-storage and bandwidth).
    """

    name = "coco"
    kind = "policy"
    range = Range(best=0, worst=5 * OMEGA, bounded=False)
    needs = Needs(labels=(LABEL,), residents=True)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self._dimensions = tuple(dict.fromkeys(read.texts("dimensions", DIMENSIONS)))
        read.finish()

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the sum of penalties, interference and load, float64[S, M], and how it grows with tasks of
        this batch.
        """
        types, notes = types_of(shapes.rows)
        residents = resident_counts(machines)
        penalties = PENALTIES.T @ residents
        alike = PENALTIES.sum(axis=1) @ residents * _fullness(machines) + self._load(machines)
        waiting = forecast_tasks(machines, shapes, types, penalties, PENALTIES)
        # Only neighbours of other types count: crowding covers a task's own type, as it grows with every task that is
        # placed.
        expected = (PENALTIES * (1.0 - np.eye(TYPES))).T @ waiting
        raw = (penalties + expected + alike)[types]
        # Crowding is computed for a task of mean request and of the batch's mixture of types.
        growth = self._compute_growth(machines, shapes.mean(shapes.demand), shapes.mean(np.eye(TYPES)[types]))
        return Assessment(raw=raw, growth=growth, notes=notes)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return the growth for tasks of the default type, sheep."""
        mixture = np.zeros(TYPES)
        mixture[TaskType.SHEEP] = 1.0
        return self._compute_growth(machines, request.astype(np.float64), mixture)

    def _compute_growth(self, machines: MachineColumns, request: Float64, mixture: Float64) -> Float64:
        """Return by how much one task raises the cost of the next one of its type: by load, by S, and by its
        penalty.
        """
        growth = mixture @ PENALTIES.diagonal() + mixture @ PENALTIES.sum(axis=1) * _fullness(machines)
        for column in self._columns(machines):
            capacity = machines.capacity[:, column].astype(np.float64)
            share = np.divide(request[column], capacity, out=np.zeros(machines.count), where=capacity > 0)
            growth += OMEGA * np.minimum(share, 1.0)
        return growth

    def _load(self, machines: MachineColumns) -> Float64:
        """Return the load of each machine, the taken thousandths summed over dimensions: float64[M]."""
        load = np.zeros(machines.count)
        for column in self._columns(machines):
            capacity = machines.capacity[:, column].astype(np.float64)
            taken = np.fmax(
                machines.get_requested(column), machines.usage[:, column]
            )  # fmax returns the number if the other value is NaN
            share = np.divide(taken, capacity, out=np.zeros(machines.count), where=capacity > 0)
            load += OMEGA * np.clip(share, 0.0, 1.0)
        return load

    def _columns(self, machines: MachineColumns) -> list[int]:
        found = [machines.column(name) for name in self._dimensions]
        return [column for column in found if column is not None]


def _fullness(machines: MachineColumns) -> Float64:
    """Return e^(busy / slots) per machine: float64[M], from 1 to e. Slots are the pods that a machine takes."""
    column = machines.column("pods")
    if column is None:
        return np.ones(machines.count)
    slots = np.maximum(machines.capacity[:, column], 1)
    return np.exp(np.minimum(machines.running / slots, 1.0))
