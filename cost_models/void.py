"""The policy that charges nothing and says nothing.

Source: Firmament's VOID cost model. There every cost is 0, that of leaving a task unscheduled included; two
equivalence classes per task, that of its command line and one of its own, lead to every machine with capacity 0 or all
that is free. It existed to feed the web page while the simple scheduler decided. What takes its place here:

* the task's own equivalence class is left out: it made one class, and one arc per machine, of every single task;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement: with the original's cost of 0
  a solver may leave everything unscheduled and be right.

So it places like ``trivial``. It is meant as a base for overlays that are to decide alone.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cost_models.interface import Assessment, Float64, Int64, MachineColumns, Range, ShapeBatch
from cost_models.registry import Kind


class Void:
    """No cost anywhere."""

    name = "void"
    kind: ClassVar[Kind] = "policy"
    range = Range(best=0, worst=100)
    record_kinds = ()

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:  # noqa: ARG002 - interface
        """Return 0 for every shape and machine."""
        return Assessment(raw=np.zeros((shapes.count, 1)))

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:  # noqa: ARG002 - interface
        """Return 0: nothing matters."""
        return np.zeros(machines.count)
