"""The cost model ``load_threshold``: keeps tasks off machines whose use reaches a threshold, and balances measured use.

Source: Koordinator's LoadAwareScheduling plugin (filter and score) and, as further scoring strategies, Trimaran's
TargetLoadPacking and LoadVariationRiskBalancing. Arguments, annotations and defaults are named as in these plugins.
Differences:

* a machine is excluded when its estimated use *reaches* a threshold, compared in whole numbers; ``thresholdRounding:
  upstream`` rounds to whole percent as upstream does;
* joint rows keep the sum over all tasks of a round below the thresholds; upstream places one task after another, and
  its filter counts the tasks before each;
* ``missingMetrics`` says what to do without (fresh) reports: ``upstream`` follows upstream's arguments, ``failOpen``
  and ``failClosed`` let tasks pass or refuse them, ``estimate`` adds up the estimates of all tasks;
* ``whenAllHot: leastLoaded`` sends a task that would reach a threshold on every possible machine to the machine where
  it exceeds a threshold least.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Int8, any_of_row
from cost_models.interface import (
    Assessment,
    Assigned,
    BaseModel,
    Bool,
    Float64,
    Int64,
    Load,
    MachineColumns,
    Needs,
    Range,
    ShapeBatch,
)
from cost_models.load_aware.annotations import NODE_ANNOTATIONS, POD_ANNOTATIONS, node_annotations
from cost_models.load_aware.arguments import MODEL, read_settings
from cost_models.load_aware.machine_use import estimate_machine_use
from cost_models.load_aware.refusals import compute_rooms, judge_machines
from cost_models.load_aware.risk import subtract_margins
from cost_models.load_aware.score_formulas import Weights, compute_used_growth, percent_per_unit
from cost_models.load_aware.scorer import Scorer
from cost_models.load_aware.task_use import estimate_tasks, scale_request
from cost_models.load_aware.thresholds import allocatable_amounts, find_thresholds


class LoadThreshold(BaseModel):
    """Refuses machines whose use reaches a threshold, and charges 100 minus the score for the others.

    Arguments: those of Koordinator's LoadAwareSchedulingArgs, and ``thresholdRounding`` (exact, upstream),
    ``missingMetrics`` (upstream, failOpen, failClosed, estimate), ``whenAllHot`` (reject, leastLoaded),
    ``scoringStrategy`` (``type``: LeastUsed, MostUsed, TargetLoadPacking, LoadVariationRiskBalancing, with the
    parameters that Trimaran names).
    """

    name = MODEL
    kind = "overlay"
    range = Range(best=100, worst=0, bounded=False)
    needs = Needs(
        annotations=POD_ANNOTATIONS,
        containers=True,
        limits=True,
        service_classes=True,
        daemons=True,
        machine_annotations=NODE_ANNOTATIONS,
        load=True,
    )

    def __init__(self, **args: Any) -> None:
        self._settings = read_settings(args)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return scores, refusals, and joint rows for what tasks use together.

        ``raw`` is the score; it is negative on a machine that is used although it is at a threshold.
        """
        settings = self._settings
        load = machines.load or _nothing_reported(machines)
        expected = estimate_tasks(shapes.rows, shapes.requests, machines.resources, settings)
        custom = node_annotations(machines.names, machines.annotations)
        limits = find_thresholds(machines, settings, custom)
        use = estimate_machine_use(
            machines,
            load,
            settings,
            prod=settings.score_prod or bool(limits.prod.any()),
            alone=any(each.kind for each in (*limits.aggregations, settings.score_aggregation)),
        )
        space, charged = subtract_margins(compute_rooms(use, limits), use, expected.amounts, shapes.counts)
        daemons = np.array([row.daemon for row in shapes.rows], dtype=np.bool_)
        eligible = _eligible(machines, shapes) if settings.hot == "leastLoaded" else None
        running = (
            None if settings.risk.deviation else use.tasks
        )  # With margins, the use of tasks cannot simply be added up.
        kinds = expected.prod, ~daemons
        judged = judge_machines(space, expected.amounts, charged, kinds, running, eligible, settings)
        scored = Scorer(use, space.allocatable).scores(shapes, expected)
        return Assessment(
            raw=_figures(scored.score, judged.excess),
            feasible=judged.feasible,
            causes=judged.causes,
            reasons=judged.reasons,
            joint=judged.joint,
            occupied=judged.occupied,
            # Without an excess over thresholds, the native figure is the score itself.
            score=scored.score.astype(np.float64) if judged.excess else None,
            growth=scored.growth,
            heights=scored.heights,
            notes=(*custom.notes, *expected.notes),
        )

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return by how much a task lowers the score ``LeastUsed``; only ``assess`` knows limits and service classes of
        pods.
        """
        settings = self._settings
        if settings.strategy.name != "LeastUsed":
            return np.zeros(machines.count)
        allocatable = allocatable_amounts(machines, settings, {})
        amounts = scale_request(request, machines.resources, settings.factors, settings.known)
        return compute_used_growth(amounts, percent_per_unit(allocatable.T), Weights.from_settings(settings))


def _figures(score: Int8, excess: Mapping[int, Float64]) -> NDArray[Any]:
    """Return scores in 8 bits, as answers for many shapes exceed any cache; where a shape has an ``excess``, minus
    that.
    """
    if not excess:
        return score
    raw = score.astype(np.float64)
    for shape, beyond in excess.items():
        raw[shape] = -beyond
    return raw


def _eligible(machines: MachineColumns, shapes: ShapeBatch) -> Iterator[Bool]:
    """Yield for each shape which machines could take a task if only requests and other rules counted: bool[M]."""
    for shape, request in enumerate(shapes.requests):
        fits = ~any_of_row(machines.free[:, : len(request)] < request)
        yield fits if shapes.allowed is None else fits & shapes.allowed[shape]


def _nothing_reported(machines: MachineColumns) -> Load:
    """Return a `Load` without any reports, for clusters in which nothing is reported."""
    count, columns = machines.capacity.shape
    return Load(
        reported=np.zeros(count, dtype=np.bool_),
        interval=np.zeros(count),
        system=np.zeros((count, columns)),
        total=machines.capacity,
        windows=_NoWindows(count, columns),
        assigned=Assigned(
            machine=np.zeros(0, dtype=np.int64),
            kind=np.zeros(0, dtype=np.int64),
            time=np.zeros(0),
            initialized=np.zeros(0),
            reported=np.zeros(0, dtype=np.bool_),
            usage=np.zeros((0, columns)),
            prod=np.zeros(0, dtype=np.bool_),
            kinds=(),
            requests=np.zeros((0, columns), dtype=np.int64),
        ),
    )


@dataclass(frozen=True, slots=True)
class _NoWindows:
    """Statistics over periods of machines without reports."""

    machines: int
    resources: int

    def usage(self, kind: str, seconds: float) -> Float64:  # noqa: ARG002 - the same for all
        return np.full((self.machines, self.resources), np.nan)
