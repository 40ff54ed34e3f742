"""The interface of cost models for pairs of tasks: costs, limits and amounts that depend on where both tasks are.

The parts of an application talk to each other. What their pair costs depends on the domains (a region and zone, say)
of both tasks, and on nothing else of the machines, except that two tasks on one machine cost nothing. A model that
knows such pairs promises ``pairs``, has the methods of `PairModel` in addition to ``assess``, and needs the
``kind_labels`` that make a kind of tasks. Tasks that differ only in those labels still share a shape: a thousand
small applications cost no dense rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

from cost_models.interface import Assessment, Bool, CostModel, Float64, Int64, MachineColumns, ShapeRow


@dataclass(frozen=True, slots=True)
class PairTerms:
    """Dependencies between kinds of tasks: N kinds, P pairs, D domains of M machines, R links. Read-only."""

    domain: Int64
    """int64[M], domain of each machine, 0 to D - 1."""
    cost: Float64
    """float64[D, D], native figure of a source in the row's domain for one target in the column's; 0 for two
    tasks on one machine.
    """
    rating: Float64
    """float64[D, D], compared with limits: kept if at most the limit, exceeded if above, neither if NaN. Two
    tasks on one machine keep every limit.
    """
    group: Int64
    """int64[N], the application of each kind, -1 for none; both tasks of a pair are in one application."""
    stage: Int64
    """int64[N], position of the kind in its application's order; kinds with lower positions come first."""
    source: Int64
    """int64[P], first kind of each pair; each task of this kind counts against each task of the second kind."""
    target: Int64
    """int64[P], second kind of each pair."""
    limit: Float64
    """float64[P], the highest ``rating`` that a pair of tasks may have."""
    amount: Int64
    """int64[P], what a pair of tasks takes from the link between them."""
    link: Int64
    """int64[D, D], row of the link from one domain to another, -1 for none."""
    link_limit: Int64
    """int64[R], capacity of each link."""
    both_ways: bool = True
    """Whether a task is also charged for pairs in which it is the target."""
    strict: bool = False
    """Whether no limit may be exceeded.

    Otherwise, of a task's own rated pairs with placed tasks, at most half may exceed their limits.
    """
    bounded: bool = False
    """Whether links may not be overfilled."""
    improve: bool = True
    """Whether placements are improved jointly."""
    steers: bool = True
    """Whether costs influence placements; otherwise they are only reported."""
    names: Sequence[str] = ()
    """Names of the kinds, for people."""
    outvoted: str = ""
    """Reason for machines where too many pairs exceed their limits."""
    exceeded: str = ""
    """Reason for machines where some pair exceeds its limit."""
    link_full: str = ""
    """Reason for machines behind a full link."""

    @property
    def domains(self) -> int:
        """Number of domains: D."""
        return int(self.cost.shape[0])

    @property
    def kinds(self) -> int:
        """Number of kinds: N."""
        return len(self.group)

    def find_exceeding(self, limit: float) -> Bool:
        """Return the pairs of domains whose rating is above a limit: bool[D, D]."""
        return self.rating > limit

    def find_keeping(self, limit: float) -> Bool:
        """Return the pairs of domains whose rating is at most a limit: bool[D, D]."""
        return self.rating <= limit


@dataclass(frozen=True, slots=True)
class PlacedKinds:
    """Tasks that are on machines: ``kind[i]`` on machine row ``machine[i]``; int64[A] each."""

    kind: Int64
    machine: Int64


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """A model's verdict on one task, given the placed tasks.

    ``assessment``: the answer about the one shape; ``details``: per machine, a line for each of the task's pairs.
    """

    assessment: Assessment
    details: Sequence[tuple[str, ...]]


class PairModel(CostModel, Protocol):
    """A cost model with costs of pairs; its ``assess`` charges nothing for them.

    Tasks with equal ``needs.kind_labels`` are of one kind; tasks that have none of these labels are of no kind.
    """

    def pair_terms(self, machines: MachineColumns, kinds: Sequence[ShapeRow]) -> PairTerms | None:
        """Return the dependencies between ``kinds``, whose ``labels`` are filled in.

        None if the kinds have no dependencies.
        """
        ...

    def pair_verdict(
        self, machines: MachineColumns, terms: PairTerms | None, kind: int, placed: PlacedKinds
    ) -> PairVerdict:
        """Judge all machines for one more task of a kind (-1: of none), as the plugin that the model follows would."""
        ...


def knows_pairs(model: CostModel) -> TypeGuard[PairModel]:
    """Return whether a model charges for pairs of tasks."""
    return model.promises.pairs
