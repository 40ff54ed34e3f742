"""What pairs of tasks mean for single tasks: the verdict in an explanation, and why tasks of a round stay pending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cost_models.interface import Bool
from firmament.core.configuration import CoreConfiguration
from firmament.core.constraints.models import find_kinds, pair_rules
from firmament.core.filters.root_causes import Cause
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.pairs import PairState
from firmament.core.scoring.assessment import RoundAssessment
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class ExplainedPairs:
    """``assessed``: with the verdict of the model that knows pairs in its place; ``details``: its lines per machine;
    ``model``: its position, -1 for none; ``refusals``: what limits refuse beyond the model's own filter.
    """

    assessed: RoundAssessment
    model: int = -1
    details: Sequence[tuple[str, ...]] = ()
    refusals: tuple[tuple[str, Bool], ...] = ()


def explain_pairs(
    cluster: Cluster, configuration: CoreConfiguration, assessed: RoundAssessment, cls: int, *, without: int
) -> ExplainedPairs:
    """Judge one task of class row ``cls`` against those on machines, but for the task in row ``without``."""
    for weighted, model in configuration.pair_models[:1]:
        kinds = find_kinds(cluster, model.needs.kind_labels, [cls], without=without)
        columns = assessed.machines
        terms = model.pair_terms(columns, kinds.rows) if kinds.rows else None
        verdict = model.pair_verdict(columns, terms, kinds.of.get(cls, -1), kinds.placed)
        position = [each.model for each in configuration.models].index(model)
        assessments = list(assessed.assessments)
        notes = assessments[position].notes
        assessments[position] = replace(verdict.assessment, notes=notes)
        static = assessed.static[0]
        for reason, refused in verdict.assessment.refusals(0):
            static = static.with_refusals(refused, Cause(reason))
        refusals: tuple[tuple[str, Bool], ...] = ()
        if terms is not None and (terms.strict or terms.bounded):
            refusals = tuple(PairState(pair_rules(weighted, terms, kinds, [cls])).refusals(0))
        return ExplainedPairs(
            replace(assessed, assessments=tuple(assessments), static=(static,)),
            position,
            verdict.details,
            refusals,
        )
    return ExplainedPairs(assessed)


def pairs_after(problem: PlacementProblem, placed: Assignments) -> PairState | None:
    """Where pairs stand after a round's placements; None if no model knows any."""
    if problem.pairs is None:
        return None
    pairs = PairState(problem.pairs)
    pairs.add_all(placed.cls, placed.machine, placed.count)
    return pairs
