"""Load spreading: the fewer tasks run on a machine, the better.

Source: Firmament's OCTOPUS cost model:

    task -> unscheduled          1,000,000
    cluster aggregator -> machine      100 x running tasks
    resource -> child                  100 x running tasks below it (+ the core's number, to tell cores apart)

A machine of the original has one child, so its tasks were charged twice; here a machine is one node and charged once.
Mended or replaced:

* dense placement: the original's cost did not move within a round, so one batch filled the least loaded machine to its
  last slot before the next got a task, and balance came over rounds only. Here each further task of the round costs 100
  more, as the same task would once it runs: the load is balanced within one round;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement, and not a constant;
* cores are not modelled, so their numbers play no part.

All tasks that the scheduler knows count as running, also tasks of other schedulers, and tasks that are placed but not
started yet. Sizes do not matter: that is ``cpu_mem``'s concern.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Promises,
    Range,
    ShapeBatch,
)

PER_TASK = 100
"""What every running task adds to the cost of its machine."""

FULL = 100
"""Running tasks that are worth 100 points; about what a node is meant to run at most. More cost more."""


class Octopus(BaseModel):
    """Charges a machine for the number of tasks on it."""

    name = "octopus"
    kind = "policy"
    range = Range(best=0, worst=PER_TASK * FULL, bounded=False)
    promises = Promises(per_machine=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 100 x running tasks: the same row for every shape, as a view (float64[S, M])."""
        row = PER_TASK * machines.running.astype(np.float64)
        return Assessment(raw=np.broadcast_to(row, (shapes.count, machines.count)))

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:  # noqa: ARG002 - interface
        """Return 100: a task placed in this round weighs as much as one that runs."""
        return np.full(machines.count, float(PER_TASK))
