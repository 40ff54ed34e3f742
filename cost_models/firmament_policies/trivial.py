"""The policy that prefers no machine to another: tasks go wherever they fit.

Firmament's trivial model hangs every task on one cluster aggregator with cost 0 to each machine. Its arcs to random
preferred machines served only to exercise the original's graph code and are left out; so are its per-program
aggregators, which led nowhere.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cost_models.interface import Assessment, Float64, Int64, MachineColumns, Range, ShapeBatch
from cost_models.registry import Kind


class Trivial:
    """Every machine costs nothing, however full it is."""

    name = "trivial"
    kind: ClassVar[Kind] = "policy"
    range = Range(best=0, worst=100)
    record_kinds = ()

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:  # noqa: ARG002 - interface
        """Return 0 for every shape and machine."""
        return Assessment(raw=np.zeros((shapes.count, 1)))

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:  # noqa: ARG002 - interface
        """Return 0: the policy is indifferent to crowding."""
        return np.zeros(machines.count)
