"""Compiles the pairs of a round from a cost model: costs of two tasks by where both run, and limits on pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, MachineColumns
from cost_models.pairs import PairModel, PairTerms
from firmament.core.constraints.pairs import NO_PAIRS, PairRules, PairState
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.reasons import AnyReason
from firmament.core.rules.framework.task_verdict import AskedTask, TaskVerdict, Weighted
from firmament.core.rules.model_constraints import RoundKinds, find_kinds
from firmament.core.state.cluster import Cluster


def pair_rules(model: Weighted, terms: PairTerms, kinds: RoundKinds, waiting: Sequence[int]) -> PairRules:
    """Return the pair rules of a round from a model's terms; ``waiting[c]``: class row of problem class c."""
    units = model.weight * COST_UNITS_PER_POINT * model.model.range.points_per_unit()
    return PairRules(
        terms=terms,
        units=units if terms.steers else 0.0,
        kind=np.array([kinds.by_class.get(row, -1) for row in waiting], dtype=np.int64),
        resident_kind=kinds.placed.kind,
        resident_machine=kinds.placed.machine,
    )


def compile_pairs(
    cluster: Cluster,
    models: Sequence[tuple[Weighted, PairModel]],
    columns: MachineColumns,
    waiting: Sequence[int],
) -> PairRules:
    """Return the pair rules of a round for the waiting classes; `NO_PAIRS` if no model states pairs for them.

    ``models``: the pair models, at most one.
    """
    for weighted, model in models:
        kinds = find_kinds(cluster, model.needs.kind_labels, waiting)
        terms = model.pair_terms(columns, kinds.rows) if kinds.rows else None
        if terms is not None:
            return pair_rules(weighted, terms, kinds, waiting)
    return NO_PAIRS


def judge_pairs(asked: AskedTask) -> Iterator[TaskVerdict]:
    """Yield the pair model's verdict on one task, given the tasks on machines; nothing if there is no such model."""
    cls = int(asked.cluster.tasks.cls[asked.row])
    for weighted, model in asked.models.pair_models[:1]:
        kinds = find_kinds(asked.cluster, model.needs.kind_labels, [cls], without=asked.row)
        terms = model.pair_terms(asked.columns, kinds.rows) if kinds.rows else None
        found = model.pair_verdict(asked.columns, terms, kinds.by_class.get(cls, -1), kinds.placed)
        refusals: list[tuple[AnyReason, Bool]] = []
        if terms is not None and (terms.strict or terms.bounded):
            refusals = PairState(pair_rules(weighted, terms, kinds, [cls])).refusals(0)
        answer = replace(found.assessment, notes=asked.former(model).notes)
        yield TaskVerdict(model, answer, found.details, refusals)
