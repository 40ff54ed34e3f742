"""Scores every shape on every machine by the configured strategy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.api.arrays import Int8
from cost_models.interface import Bool, Float64, Heights, Int64, ShapeBatch, ShapeRow
from cost_models.load_aware.arguments import Strategy
from cost_models.load_aware.machine_use import Use
from cost_models.load_aware.score_formulas import (
    UsedScores,
    Weights,
    compute_used_growth,
    packing_score,
    percent_per_unit,
    variation_score,
)
from cost_models.load_aware.task_use import Estimates, round_half_away

BLIND_SECONDS = 60.0
"""Trimaran assumes that a report does not show tasks that got their machine in the last so many seconds."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a round, and how they fall with each further task.

    ``score``: int8[S, M], 0 to 100; ``growth``: float64[M], by how much each task lowers the score of the next;
    ``heights``: 100 less the unrounded score, if it is a sum over the tasks of a machine, else None.
    """

    score: Int8
    growth: Float64
    heights: Heights | None = None


class Scorer:
    """Computes scores for one state of the machines; a machine without fresh figures scores 0, unless estimates stand
    for them.
    """

    def __init__(self, use: Use, allocatable: Int64) -> None:
        """Take the use of all machines and what they offer: ``allocatable``: int64[R, M]."""
        self._use = use
        self._machines, self._load, self._settings = use.machines, use.load, use.settings
        self._allocatable = allocatable
        self._known: Bool = use.measured & use.fresh
        self._scored = np.ones_like(self._known) if use.settings.missing == "estimate" else self._known
        figures = use.aggregate(use.settings.score_aggregation)
        # Use of all tasks, by estimates alone where fresh figures are missing: int64[M, R].
        self._estimated: Int64 = np.where(self._known[:, None], figures, use.estimated)

    def scores(self, shapes: ShapeBatch, expected: Estimates) -> Scored:
        """Return the scores of all shapes on all machines, and how they fall with each task, by the strategy."""
        strategy = self._settings.strategy
        if strategy.name == "TargetLoadPacking":
            scored = self._score_packing(shapes, strategy)
        elif strategy.name == "LoadVariationRiskBalancing":
            scored = self._variation(shapes, strategy)
        else:
            scored = self._score_used(shapes, expected, most=strategy.name == "MostUsed")
        if not self._scored.all():
            scored.score[:, ~self._scored] = 0
        return scored

    def _score_used(self, shapes: ShapeBatch, expected: Estimates, *, most: bool) -> Scored:
        settings = self._settings
        weights = Weights.from_settings(settings)
        score = UsedScores(self._estimated.T, self._allocatable, weights, most=most).compute(expected.amounts)
        if settings.score_prod and expected.prod.any():
            prod_use = np.where(self._known[:, None], self._use.prod, self._use.prod_estimated)
            by_prod = UsedScores(prod_use.T, self._allocatable, weights, most=most)
            score[expected.prod] = by_prod.compute(expected.amounts[expected.prod])
        if most:
            return Scored(score, np.zeros(self._machines.count))
        mean = shapes.mean(expected.amounts)
        per_unit = percent_per_unit(self._allocatable)
        return Scored(
            score, compute_used_growth(mean, per_unit, weights), self._heights(expected, per_unit, weights)
        )

    def _heights(self, expected: Estimates, per_unit: Float64, weights: Weights) -> Heights | None:
        """Return heights.

        None if the worst resource counts, or if prod pods count other use, as the score is then no sum per machine.
        """
        if self._settings.score_prod or weights.worst or not weights.total:
            return None
        # By how much the score falls per unit of each resource, and by how much present use has lowered it. The rate
        # is at most 100, also on a machine without the resource.
        rate = per_unit * (weights.resources[:, None] / weights.total)
        percent = np.where(per_unit == 0, 100.0, np.minimum(self._estimated.T * per_unit, 100.0))
        start = weights.resources @ percent / weights.total
        return Heights(np.where(self._scored, start, 100.0), rate, expected.amounts.astype(np.float64))

    def _score_packing(self, shapes: ShapeBatch, strategy: Strategy) -> Scored:
        """Score by ``TargetLoadPacking``, which counts cpu of the whole hardware."""
        column = self._machines.column("cpu")
        count = self._machines.count
        if column is None:
            return Scored(np.zeros((shapes.count, count), dtype=np.int8), np.zeros(count))
        total = self._load.total[:, column].astype(np.float64)
        offered = np.maximum(total, 1.0)
        position = self._settings.known.index("cpu")
        # Use measured cpu only: Trimaran predicts tasks that the report does not show in its own way, see
        # ``_unseen``.
        shown = self._estimated[:, position] - self._use.delta[:, position]
        used = np.where(self._known, shown, 0) + self._unseen(column, strategy)
        added = [
            predict_cpu(row, int(request), strategy)
            for row, request in zip(shapes.rows, shapes.requests[:, column], strict=True)
        ]
        score = np.empty((shapes.count, count), dtype=np.int8)
        for shape, amount in enumerate(added):
            percent = np.where(total > 0, 100.0 * (used + amount) / offered, 0.0)
            score[shape] = packing_score(percent, strategy.target)
        mean = shapes.mean(np.array(added, dtype=np.float64))
        return Scored(
            score, _falling_to_full(100.0 * used / offered, 100.0 * mean / offered, strategy.target)
        )

    def _unseen(self, column: int, strategy: Strategy) -> Float64:
        """Return the predicted cpu of tasks that the last report does not show: float64[M]."""
        assigned = self._load.assigned
        report = self._machines.usage_time[assigned.machine]
        unseen = ~(report - assigned.time >= BLIND_SECONDS)
        predicted = np.array(
            [
                predict_cpu(row, int(request), strategy)
                for row, request in zip(assigned.kinds, assigned.requests[:, column], strict=True)
            ],
            dtype=np.float64,
        )
        amounts = predicted[assigned.kind[unseen]]
        summed = np.bincount(assigned.machine[unseen], weights=amounts, minlength=self._machines.count)
        return summed.astype(np.float64)

    def _variation(self, shapes: ShapeBatch, strategy: Strategy) -> Scored:
        settings = self._settings
        score = np.full((shapes.count, self._machines.count), 100.0)
        growth = np.zeros(self._machines.count)
        deviation = self._load.windows.usage("std", settings.score_aggregation.seconds)
        used = self._estimated.astype(np.float64)
        mean = shapes.mean(shapes.requests)
        for resource in ("cpu", "memory"):
            column, position = self._machines.column(resource), settings.known.index(resource)
            if column is None:
                score[:] = 0.0
                continue
            capacity = self._allocatable[position].astype(np.float64)
            spread = np.nan_to_num(deviation[:, column])
            for shape in range(shapes.count):
                request = float(shapes.requests[shape, column])
                single = variation_score(used[:, position], spread, request, capacity, strategy)
                np.minimum(score[shape], single, out=score[shape])
            share = np.where(capacity > 0, mean[column] / np.maximum(capacity, 1.0), 0.0)
            np.maximum(growth, 50.0 * np.minimum(share, 1.0), out=growth)
        return Scored(np.floor(score + 0.5).astype(np.int8), growth)


def predict_cpu(row: ShapeRow, request: int, strategy: Strategy) -> int:
    """Return Trimaran's prediction of a pod's cpu in milli-cores: per container its limit, else a multiple of its
    request.

    A container with neither counts as ``default_cpu``. If a pod's containers are not known, the pod counts as one
    container.
    """
    overhead = dict(row.overhead).get("cpu", 0)
    apps = [each for each in row.containers if each.kind == "app"]
    if not apps:
        return _predict_container_cpu(dict(row.limits).get("cpu"), request or None, strategy)
    return overhead + sum(
        _predict_container_cpu(dict(each.limits).get("cpu"), dict(each.requests).get("cpu"), strategy)
        for each in apps
    )


def _predict_container_cpu(limit: int | None, request: int | None, strategy: Strategy) -> int:
    if limit is not None:
        return limit
    return strategy.default_cpu if request is None else round_half_away(request * strategy.multiplier)


def _falling_to_full(percent: Float64, step: Float64, target: float) -> Float64:
    """Return by how many points the packing score falls per task of ``step`` percent, on a straight line down to 0 on a
    full machine.

    The score rises up to the target and falls beyond it, but a flow needs costs that never fall. A straight line to
    the score's end spreads a batch over the machines nearest to the target, instead of filling one.
    """
    left = np.maximum(100.0 - percent, step)
    line = packing_score(np.minimum(percent, 100.0), target) / np.maximum(left, 1e-9)
    steep = target / (100.0 - target)
    return np.minimum(np.where(percent >= target, steep, line) * step, 100.0)
