"""Verdicts on one task, machine by machine, by models that judge several tasks together; for explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from cost_models.group_terms import TopologyModel
from cost_models.interface import Assessment, Bool, CostModel, MachineColumns
from cost_models.pairs import PairModel
from firmament.core.reasons import AnyReason
from firmament.core.state.cluster import Cluster


class Weighted(Protocol):
    """A cost model, and the weight by which its points are multiplied."""

    @property
    def model(self) -> CostModel:
        """The cost model."""
        ...

    @property
    def weight(self) -> int:
        """The factor by which its points are multiplied."""
        ...


class FamilyModels(Protocol):
    """The configured models that look at several tasks together."""

    @property
    def pair_models(self) -> Sequence[tuple[Weighted, PairModel]]:
        """Models with costs of pairs of tasks; rounds use the first."""
        ...

    @property
    def group_model(self) -> TopologyModel | None:
        """The model that knows how groups are distributed over a tree of machines, None if there is none."""
        ...


class AskedTask(NamedTuple):
    """A task to be explained, with all that its explanation needs."""

    cluster: Cluster
    models: FamilyModels
    row: int
    """Row of the task; it is not counted on its machine."""
    columns: MachineColumns
    """The machines as they are without the task."""
    former: Callable[[CostModel], Assessment]
    """Returns what a model says of the task alone."""


class TaskVerdict(NamedTuple):
    """The verdict on one task by a model that judges several tasks together."""

    model: CostModel
    answer: Assessment
    """Replaces what the model says of the task alone."""
    details: Sequence[tuple[str, ...]]
    """Lines for people, per machine."""
    refusals: Sequence[tuple[AnyReason, Bool]] = ()
    """Machines that limits refuse in addition to the model's filter."""
