"""Spreads load: prefers the machines on which the fewest tasks run.

Source: Firmament's OCTOPUS cost model:

    task -> unscheduled          1,000,000
    cluster aggregator -> machine      100 x running tasks
    resource -> child                  100 x running tasks below it (+ the core's number, to tell cores apart)

In the original, each machine has one child, so the machine's tasks were charged twice; in this model they are charged
once. Changes:

* in this model, each task of a round makes the next one on its machine cost 100 more, as if it ran already, so one
  round balances the load. in the original, costs stayed the same during a round: a batch filled the least loaded
  machine to its last slot, and only later rounds balanced the load;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement, and not a constant;
* machines have no cores in this model, so the numbers of cores are not added.

Every task with a machine counts as running, also tasks of other schedulers, and tasks that have not started yet. The
sizes of tasks do not matter; ``cpu_mem`` is the policy for sizes.
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
"""Cost that each running task adds to its machine."""

FULL = 100
"""How many running tasks cost 100 points: about as many as a node is meant to run. More tasks cost more than 100."""


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
        """Return 100: a task that this round places counts as much as one that runs."""
        return np.full(machines.count, float(PER_TASK))
