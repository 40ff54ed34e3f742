"""Models whose answer about a machine depends on that machine alone, so that it holds until the machine changes.

Such a model has the attribute ``per_machine = True``. It promises that of its answer the figure, verdict, cause and
score of a shape on a machine follow from

* that machine's row in the columns, its residents included; the names of resources and which of them are scarce; the
  records of the model's kinds;
* that shape's request, row and ``allowed`` on that machine;

and so from no other machine, from no other shape, from no count of waiting tasks, nor from ``now``; and that the answer
has neither sparse arcs, joint rows, a ledger nor a growth, and the same reasons each time. The scheduler then keeps
answers between rounds, and asks about changed machines and new shapes alone, by ``MachineColumns.take`` and
``ShapeBatch.take``. Whoever looks at use in detail or at arrivals (``uses_load``, ``uses_arrivals``) cannot promise
that. Where ``now`` decides how old a sample is, the model has a further method ``lasts_until``.
"""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np

from cost_models.api.arrays import Float64
from cost_models.api.columns import MachineColumns
from cost_models.interface import CostModel


class Passing(Protocol):
    """What a model has besides if its answers also change as time goes by."""

    def lasts_until(self, machines: MachineColumns) -> Float64:
        """Return float64[M]: from when on (seconds since the epoch) the answer about a machine may be another one.

        Infinity: not before the machine changes. What it says of a machine depends on that machine and ``now`` alone.
        The answer has to be the same up to then, so rather say too early than too late.
        """
        ...


def is_per_machine(model: CostModel) -> bool:
    """Whether a model promises that its answers hold until the machine changes."""
    return bool(getattr(model, "per_machine", False))


def lasts_until(model: CostModel, machines: MachineColumns) -> Float64 | None:
    """What the method of that name says; None: answers do not change as time goes by."""
    if not hasattr(model, "lasts_until"):
        return None
    return np.asarray(cast("Passing", model).lasts_until(machines), dtype=np.float64)
