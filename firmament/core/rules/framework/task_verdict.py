"""Defines verdicts on one task, machine by machine, by models that judge several tasks together."""

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
        """The factor by which the model's points are multiplied."""
        ...


class FamilyModels(Protocol):
    """The configured models that look at several tasks together."""

    @property
    def pair_models(self) -> Sequence[tuple[Weighted, PairModel]]:
        """The models that state costs for pairs of tasks; rounds use the first."""
        ...

    @property
    def group_model(self) -> TopologyModel | None:
        """The model that distributes groups over a tree of machines; None if there is none."""
        ...


class AskedTask(NamedTuple):
    """A task that is to be explained, with all that the explanation needs."""

    cluster: Cluster
    models: FamilyModels
    row: int
    """Row of the task, which is not counted on its own machine."""
    columns: MachineColumns
    """The machines as they would be without the task."""
    former: Callable[[CostModel], Assessment]
    """A function that returns what a model says about the task alone."""


class TaskVerdict(NamedTuple):
    """The verdict on one task by a model that judges several tasks together."""

    model: CostModel
    answer: Assessment
    """The model's assessment, which replaces what it says about the task alone."""
    details: Sequence[tuple[str, ...]]
    """Explanatory lines for each machine."""
    refusals: Sequence[tuple[AnyReason, Bool]] = ()
    """Machines that limits refuse in addition to the model's filter."""
