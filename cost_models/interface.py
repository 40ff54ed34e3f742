"""The interface of cost models: their inputs and their answers.

A model looks at a batch of *shapes* (tasks whose requests and selectors are alike) and at columns of *machines*, and
answers with an `Assessment`: a filter, the native figure of placing one task of a shape on a machine, how that figure
grows as a machine fills, and joint rows for whatever several tasks share. The scheduler maps native figures to points
(0 best, 100 worst) through the model's declared `Range`, multiplies by the configured weight and builds the network.

Models import all names of the interface from this module. The interface depends on numpy alone, so that a model can
be written and tested without the scheduler.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, TypeAlias, TypeGuard

import numpy as np

from cost_models.api.arrays import Bool, Float64, Int32, Int64
from cost_models.api.assessment import (
    Assessment,
    ByTask,
    EvictableLedger,
    Heights,
    JointRows,
    Ledger,
    Range,
    ReasonedLedger,
    Returned,
    RoomAfterEviction,
    SharedLedger,
    SharedRoomAfterEviction,
    SparseArcs,
)
from cost_models.api.columns import (
    Arrivals,
    Assigned,
    ContainerRow,
    Kinds,
    Load,
    MachineColumns,
    Residents,
    ShapeBatch,
    ShapeRow,
    Windows,
)
from cost_models.api.devices import DeviceColumns, DeviceDemand
from cost_models.api.needs import ModelDeclarationError, Needs, Promises

__all__ = [
    "Arrivals",
    "Assessment",
    "Assigned",
    "BaseModel",
    "Bool",
    "ByTask",
    "ContainerRow",
    "CostModel",
    "DeviceColumns",
    "DeviceDemand",
    "EvictableLedger",
    "Float64",
    "Heights",
    "Int32",
    "Int64",
    "JointRows",
    "Kind",
    "Kinds",
    "Ledger",
    "Load",
    "MachineColumns",
    "ModelArgumentError",
    "ModelDeclarationError",
    "Needs",
    "Promises",
    "Range",
    "ReasonedLedger",
    "Residents",
    "Returned",
    "RoomAfterEviction",
    "ShapeBatch",
    "ShapeRow",
    "SharedLedger",
    "SharedRoomAfterEviction",
    "SparseArcs",
    "TimeDependentModel",
    "Windows",
    "answers_expire",
]


Kind: TypeAlias = Literal["policy", "overlay"]


class ModelArgumentError(ValueError):
    """Bad ``args`` in the configuration: the message names the argument, what is wrong with it and what is allowed."""


class CostModel(Protocol):
    """A base policy, or an overlay whose costs are added to those of the base policy.

    A model is pure: equal inputs give equal answers, inputs are never written to, and the model keeps no state
    between rounds (history reaches it as records and samples). ``range`` declares the span of ``raw``, ``needs`` what
    the model reads, ``promises`` what else holds of its answers. These declarations are checked when the model is
    loaded, and never change.
    """

    name: str
    range: Range

    @property
    def needs(self) -> Needs:
        """The facts that the model needs."""
        ...

    @property
    def promises(self) -> Promises:
        """The properties on which callers may rely, and the further methods that the model has."""
        ...

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the costs of all shapes on all machines, with limits and reasons for refusals."""
        ...

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return by how much ``raw`` of a task with ``request`` (int64[K]) grows per such task already placed on a
        machine in this round: float64[M], >= 0. Zero means indifference to crowding.
        """
        ...


class BaseModel:
    """A base class for models without needs, promises and crowding (costs that grow as a machine fills).

    ``needs`` that depend on arguments are set in the constructor.
    """

    kind: ClassVar[Kind]
    needs: Needs = Needs()
    promises: Promises = Promises()

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:  # noqa: ARG002 - interface
        """Return 0: float64[M]."""
        return np.zeros(machines.count)


class TimeDependentModel(CostModel, Protocol):
    """A model whose answers about machines also change with time (``Promises.expires``)."""

    def lasts_until(self, machines: MachineColumns) -> Float64:
        """Return the time (seconds since the epoch) from which on the answer about a machine may change: float64[M].

        Infinity: not before the machine changes. The stated time may depend on the machine and on ``now`` alone. The
        answer has to be the same up to that time, so a model should rather state a time that is too early than one
        that is too late.
        """
        ...


def answers_expire(model: CostModel) -> TypeGuard[TimeDependentModel]:
    """Return whether a model's answers about machines also change with time."""
    return model.promises.expires
