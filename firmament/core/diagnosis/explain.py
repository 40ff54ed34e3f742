"""Explains one task: which machines it may use, why not the others, and what models, pairs and group rules say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Assessment, Bool, JointRows, Ledger
from firmament.core.configuration import CoreConfiguration
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.model_limits import ModelLimits
from firmament.core.constraints.preferences import SoftCost, soft_cost
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.diagnosis.restart_room import add_kept, refuse_kept_room
from firmament.core.diagnosis.task_and_machine_states import state_name
from firmament.core.filters.root_causes import RootCauses
from firmament.core.filters.static_rows import verdict
from firmament.core.reasons import AnyReason, Cause, StatedReason
from firmament.core.results import Explanation, MachineVerdict, ModelVerdict
from firmament.core.rules.framework.limit_rule import RoundDemand
from firmament.core.rules.framework.node_rule import MODEL_NAME, MachineRefusal
from firmament.core.rules.framework.task_verdict import AskedTask
from firmament.core.rules.registry import (
    compile_rules,
    find_quotas,
    judge_task,
    keep_ledgers,
    limit_anew,
)
from firmament.core.rules.task_amounts import add_spared
from firmament.core.scoring.round_assessment import RoundAssessment, assess_shapes, raw_rows
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import model_columns


def explain(context: RoundContext, uid: str, now: float) -> Explanation:
    """Judge every machine for the known task ``uid`` as if it were waiting; the amounts that it uses count as free."""
    cluster, configuration = context.cluster, context.configuration
    tasks = cluster.tasks
    task = tasks.row_of[uid]
    cls = int(tasks.cls[task])
    shape = cluster.classes.rows[cls].shape
    columns = model_columns(cluster, now, configuration.needs, without=task)
    free = add_spared(
        cluster, shape, add_kept(cluster, np.array([task]), None, cluster.free([task], without=task))
    )
    assessed = assess_shapes(cluster, context.static_rows, columns, [shape], [1], configuration.models)
    position = {id(each.model): place for place, each in enumerate(configuration.models)}
    alone = assessed.assessments
    judged = judge_task(
        AskedTask(cluster, configuration, task, columns, lambda model: alone[position[id(model)]])
    )
    for each in judged:
        assessed = _replace_answer(assessed, position[id(each.model)], each.answer)
    state = RuleState(compile_rules(cluster, [cls], without=task))
    demand = RoundDemand([shape], np.ones(1, dtype=np.int64), assessed.batch.requests, without=task)
    joint = (*assessed.joint(), *limit_anew(cluster, demand))
    quotas = find_quotas(cluster, demand)
    beyond = (refusal for each in judged for refusal in each.refusals)
    limits = (*_limits(joint, (*assessed.ledgers(), *keep_ledgers(cluster, demand)), quotas), *beyond)
    others = [MachineRefusal(Cause(reason), refused) for reason, refused in limits]
    if cluster.restarts.by_uid and tasks.machine[task] < 0:
        others += refuse_kept_room(cluster, [task], tasks.job[task], free)
    causes = verdict(cluster, cls, assessed.static[0], free, state, 0, others)
    soft = soft_cost(state, 0, ~causes.find_refused())
    return Explanation(
        uid=uid,
        name=tasks.name[task],
        state=state_name(cluster, task, now),
        machine=cluster.where(task),
        machines=tuple(
            _verdicts(
                assessed,
                {position[id(each.model)]: each.details for each in judged},
                configuration,
                causes,
                soft,
            )
        ),
        notes=assessed.notes(),
    )


def _limits(
    joint: Sequence[JointRows], ledgers: Sequence[Ledger], quotas: QuotaTerms | None = None
) -> list[tuple[AnyReason, Bool]]:
    """Return, by reason, which machines limits of models and quotas refuse to the only task of an assessment."""
    return ModelLimits(joint, ledgers, np.zeros(1, dtype=np.int64), quotas).refusals(0)


def _verdicts(
    assessed: RoundAssessment,
    details: Mapping[int, Sequence[tuple[str, ...]]],
    configuration: CoreConfiguration,
    causes: RootCauses,
    soft: SoftCost | None,
) -> list[MachineVerdict]:
    per_model = [
        _model_verdicts(assessed, configuration, index) for index in range(1 + len(configuration.overlays))
    ]
    for model, lines in details.items():
        per_model[model] = [
            replace(verdict, details=own) for verdict, own in zip(per_model[model], lines, strict=True)
        ]
    per_model.append(_preference_verdicts(assessed, soft, _scarcity(assessed, configuration)))
    verdicts = []
    for row, name in enumerate(assessed.machines.names):
        models = tuple(verdicts_of_model[row] for verdicts_of_model in per_model)
        why = causes.list_causes(row)
        verdicts.append(
            MachineVerdict(
                machine=name,
                feasible=not why,
                causes=why,
                cost=sum(model.cost for model in models),
                models=models,
            )
        )
    return verdicts


def _model_verdicts(
    assessed: RoundAssessment, configuration: CoreConfiguration, index: int
) -> list[ModelVerdict]:
    """Return one model's verdict per machine, with scores and costs in whole points."""
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


def _scarcity(assessed: RoundAssessment, configuration: CoreConfiguration) -> SoftCost | None:
    """Return what the use of machines with scarce resources costs the assessed task, in the form of a preference."""
    if configuration.scarce is None:
        return None
    raw = raw_rows(assessed.assessments[-1], 1, assessed.machines.count)[0]
    points = configuration.scarce.weight * configuration.scarce.model.range.points(raw)
    return SoftCost(points, -raw, configuration.scarce.weight) if raw.any() else None


def _preference_verdicts(
    assessed: RoundAssessment, soft: SoftCost | None, scarce: SoftCost | None
) -> list[ModelVerdict]:
    """Return the verdicts of the task's own preferences; the score is 100 minus the mean cost per weight."""
    nothing = np.zeros(assessed.machines.count)
    whole = SoftCost.join((assessed.preferred[0], soft, scarce)) or SoftCost(nothing, nothing, 0)
    score = 100.0 - whole.points / max(1, whole.weight)
    return [
        ModelVerdict(MODEL_NAME, feasible=True, raw=raw, score=left, cost=charged)
        for raw, left, charged in zip(whole.raw.tolist(), score.tolist(), whole.points.tolist(), strict=True)
    ]


def _replace_answer(assessed: RoundAssessment, position: int, answer: Assessment) -> RoundAssessment:
    """Return the assessment of one shape with ``answer`` in place of the answer of the model at index ``position``."""
    assessments = list(assessed.assessments)
    assessments[position] = answer
    static = assessed.static[0]
    for words, refused in answer.refusals(0):
        static = static.add_refusals(refused, Cause(StatedReason(words)))
    return replace(assessed, assessments=tuple(assessments), static=(static,))
