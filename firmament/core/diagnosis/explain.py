"""Explains one task: which machines it may use, why not the others, and what each model charges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, JointRows, Ledger
from firmament.core.configuration import CoreConfiguration
from firmament.core.constraints.rules import compile_rules
from firmament.core.diagnosis.listing import state_name
from firmament.core.diagnosis.pairs import ExplainedPairs, explain_pairs
from firmament.core.diagnosis.tree_groups import ExplainedGroup, explain_group
from firmament.core.diagnosis.verdict import verdict
from firmament.core.filters.attached_volumes import with_saved
from firmament.core.filters.node_filters import StaticRows
from firmament.core.filters.root_causes import Cause, Refusal, RootCauses
from firmament.core.results import Explanation, MachineVerdict, ModelVerdict
from firmament.core.rules.counters import RuleState
from firmament.core.rules.model_limits import ModelLimits
from firmament.core.rules.preferences import SoftCost, soft_cost
from firmament.core.scoring.assessment import RoundAssessment, assess_shapes, raw_rows
from firmament.core.scoring.preferences import MODEL_NAME, Preferences
from firmament.core.snapshot.snapshot import model_columns
from firmament.core.state.cluster import Cluster


def explain(
    cluster: Cluster, static_rows: StaticRows, configuration: CoreConfiguration, uid: str, now: float
) -> Explanation:
    """Judge every machine for the task ``uid`` (known), as if it were waiting: its own use is not held against it."""
    tasks = cluster.tasks
    task = tasks.row_of[uid]
    cls = int(tasks.cls[task])
    shape = cluster.classes.rows[cls].shape
    columns = model_columns(cluster, now, configuration.needs, without=task)
    free = with_saved(cluster, shape, cluster.free([task], without=task))
    assessed = assess_shapes(cluster, static_rows, columns, [shape], [1], configuration.models)
    grouped = explain_group(cluster, configuration, assessed, task)
    explained = explain_pairs(cluster, configuration, grouped.assessed, cls, without=task)
    assessed = explained.assessed
    rules = compile_rules(cluster, [cls], without=task)
    state = None if rules is None else RuleState(rules)
    limits = (*_limits(assessed.joint(), assessed.ledgers()), *explained.refusals)
    others = [Refusal(Cause(text), refused) for text, refused in limits]
    causes = verdict(cluster, cls, assessed.static[0], free, state, 0, others)
    soft = None if state is None else soft_cost(state, 0, ~causes.refused())
    return Explanation(
        uid=uid,
        name=tasks.name[task],
        state=state_name(cluster, task, now),
        machine=cluster.where(task),
        machines=tuple(_verdicts(explained, grouped, configuration, causes, soft)),
        notes=assessed.notes(),
    )


def _limits(joint: Sequence[JointRows], ledgers: Sequence[Ledger]) -> list[tuple[str, Bool]]:
    """What models' limits refuse the one task of a assessment."""
    return ModelLimits(joint, ledgers, np.zeros(1, dtype=np.int64)).refusals(0)


def _verdicts(
    explained: ExplainedPairs,
    grouped: ExplainedGroup,
    configuration: CoreConfiguration,
    causes: RootCauses,
    soft: SoftCost | None,
) -> list[MachineVerdict]:
    assessed = explained.assessed
    per_model = [
        _model_verdicts(assessed, configuration, index) for index in range(1 + len(configuration.overlays))
    ]
    for model, told in ((explained.model, explained.details), (grouped.model, grouped.details)):
        if model >= 0:
            per_model[model] = [
                replace(verdict, details=details)
                for verdict, details in zip(per_model[model], told, strict=True)
            ]
    per_model.append(_preference_verdicts(assessed, soft, _scarcity(assessed, configuration)))
    verdicts = []
    for row, name in enumerate(assessed.machines.names):
        models = tuple(verdicts_of_model[row] for verdicts_of_model in per_model)
        why = causes.told(row)
        verdicts.append(
            MachineVerdict(
                machine=name,
                feasible=not why,
                reasons=why,
                cost=sum(model.cost for model in models),
                models=models,
            )
        )
    return verdicts


def _model_verdicts(
    assessed: RoundAssessment, configuration: CoreConfiguration, index: int
) -> list[ModelVerdict]:
    """One model's verdict per machine; scores and costs in whole points."""
    weighted = configuration.models[index]
    assessment = assessed.assessments[index]
    count = assessed.machines.count
    raw = raw_rows(assessment, 1, count)[0]
    points = np.rint(weighted.model.range.points(raw))
    score = 100.0 - points if assessment.score is None else assessment.score[0]
    feasible = np.ones(count, np.bool_) if assessment.feasible is None else assessment.feasible[0].copy()
    ledgers = () if assessment.ledger is None else (assessment.ledger,)
    for _, refused in _limits(assessment.joint, ledgers):
        feasible &= ~refused
    return [
        ModelVerdict(
            model=weighted.model.name,
            feasible=bool(feasible[row]),
            raw=float(raw[row]),
            score=float(score[row]),
            cost=float(weighted.weight * points[row]),
        )
        for row in range(count)
    ]


def _scarcity(assessed: RoundAssessment, configuration: CoreConfiguration) -> Preferences | None:
    """What machines with scarce resources cost the one task of a assessment, as one of its preferred rules."""
    if configuration.scarce is None:
        return None
    raw = raw_rows(assessed.assessments[-1], 1, assessed.machines.count)[0]
    points = configuration.scarce.weight * configuration.scarce.model.range.points(raw)
    return Preferences(points, -raw, configuration.scarce.weight) if raw.any() else None


def _preference_verdicts(
    assessed: RoundAssessment, soft: SoftCost | None, scarce: Preferences | None
) -> list[ModelVerdict]:
    """The task's own preferred rules; the score is what its cost leaves of 100, 100 without any rule."""
    preferred = assessed.preferred[0]
    count = assessed.machines.count
    points, raw, weight = np.zeros(count), np.zeros(count), 0
    for part in (preferred, soft, scarce):
        if part is not None:
            points, raw, weight = points + part.points, raw + part.raw, weight + part.weight
    return [
        ModelVerdict(
            MODEL_NAME, feasible=True, raw=figure, score=100.0 - charged / max(1, weight), cost=charged
        )
        for figure, charged in zip(raw.tolist(), points.tolist(), strict=True)
    ]
