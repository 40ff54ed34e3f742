"""What families of rules that models know say of one task, machine by machine, for people who ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from cost_models.group_terms import TopologyModel
from cost_models.interface import Assessment, Bool, CostModel, MachineColumns
from cost_models.pairs import PairModel
from firmament.core.reasons import AnyReason
from firmament.core.state.cluster import Cluster


class Weighted(Protocol):
    """A cost model and what its points are multiplied by, as the configuration has it."""

    @property
    def model(self) -> CostModel:
        """The model."""
        ...

    @property
    def weight(self) -> int:
        """What its points are multiplied by."""
        ...


class FamilyModels(Protocol):
    """What of a configuration knows families of rules."""

    @property
    def pair_models(self) -> Sequence[tuple[Weighted, PairModel]]:
        """Models that know pairs of tasks; rounds follow the first."""
        ...

    @property
    def group_model(self) -> TopologyModel | None:
        """The model that knows how groups are distributed over a tree of machines, None if there is none."""
        ...


class AskedTask(NamedTuple):
    """A task that is explained, and what is asked about it."""

    cluster: Cluster
    models: FamilyModels
    row: int
    """Row of the task; it is not counted on its machine."""
    columns: MachineColumns
    """The machines without it."""
    former: Callable[[CostModel], Assessment]
    """What a model said of the task without looking at others."""


class TaskVerdict(NamedTuple):
    """What a model that looks at several tasks together says of one of them."""

    model: CostModel
    answer: Assessment
    """Takes the place of what the model said without looking at others."""
    details: Sequence[tuple[str, ...]]
    """Lines for people, per machine."""
    refusals: Sequence[tuple[AnyReason, Bool]] = ()
    """What limits refuse beyond the model's own filter."""
