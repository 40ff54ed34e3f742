"""Scores machines by how well their zones suit a task: upstream's LeastAllocated, MostAllocated and BalancedAllocation.

Source: kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology: score.go and the strategies beside it. All figures
are integers, every division truncates. Amounts count as ``Quantity.Value()`` has them, rounded up: 1500 milli-cores
are 2 cores.

    LeastAllocated(zone)      sum w s / sum w,  s = (available - request) x 100 / available, 0 if that is not enough
    MostAllocated(zone)       the same with     s = request x 100 / available
    BalancedAllocation(zone)  (1 - sample variance of request / available) x 100, 0 if a fraction exceeds 1

Sums run over the requested resources; s = 0 for a resource that the zone does not list. A machine's score is the
lowest of its zones' scores that is not 0 ("assume the kubelet picks the worst"). In container scope, the score is the
mean over all containers and init containers, each scored on what zones have before the task. Tasks that are not
guaranteed score 100. Machines that do not align tasks, or have no record, score 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cost_models.interface import Float64, Int64
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.kubelet_simulation import SINGLE
from cost_models.numa.requests import Requests
from cost_models.numa.zones import ZoneTable

PERFECT = 100

Strategy = Callable[[Int64, Int64, Int64], Int64]
"""A strategy returns each zone's score, int64[M, Z], from what is available there (int64[R, M, Z], as
``Quantity.Value()``, 0 where a zone does not list a resource), weights and a request (int64[R] each).
"""


def values_of(resources: tuple[str, ...], amounts: Int64, axis: int) -> Int64:
    """Return amounts as ``Quantity.Value()`` does, cpu in whole cores, rounded up; resources run along ``axis``."""
    values = amounts.copy()
    if "cpu" in resources:
        where = [slice(None)] * amounts.ndim
        where[axis] = slice(resources.index("cpu"), resources.index("cpu") + 1)
        values[tuple(where)] = -(-amounts[tuple(where)] // 1000)
    return values


def allocation_scores(
    table: ZoneTable, available: Int64, requests: Requests, shapes: int, options: NumaOptions
) -> Float64:
    """Return scores of the first ``shapes`` shapes on every machine: float64[shapes, M].

    ``available``: int64[R, M, Z], amounts left in the zones of ``table``.
    """
    held, there = values_of(table.resources, available, axis=0), table.there
    weights = np.array([options.weights.get(name, 1) for name in table.resources], dtype=np.int64)
    values = values_of(requests.resources, requests.amounts[:shapes], axis=2)
    init_values = values_of(requests.resources, requests.init_amounts[:shapes], axis=2)
    scored = table.policy == SINGLE
    scores = np.zeros((shapes, table.machines))
    by_request: dict[bytes, Int64] = {}

    def machine_scores(request: Int64) -> Int64:
        key = request.tobytes()
        if key not in by_request:
            found = STRATEGIES[options.strategy](held, weights, request)
            # The least of the zones' scores on each machine that is not 0; 0 if all are 0.
            worst = np.where(there & (found > 0), found, PERFECT + 1).min(axis=1, initial=PERFECT + 1)
            by_request[key] = np.where(worst > PERFECT, 0, worst)
        return by_request[key]

    for shape in range(shapes):
        if not requests.guaranteed[shape]:
            scores[shape] = PERFECT
            continue
        row = np.zeros(table.machines, dtype=np.int64)
        if (scored & table.pod_scope).any():
            row = machine_scores(values[shape, 0])
        if (scored & ~table.pod_scope).any():
            apps, init = int(requests.apps[shape]), len(requests.init_names[shape])
            units = [*init_values[shape, :init], *values[shape, 1 : apps + 1]]
            total = sum((machine_scores(unit) for unit in units), np.zeros(table.machines, dtype=np.int64))
            row = np.where(table.pod_scope, row, total // max(1, len(units)))
        scores[shape] = np.where(scored, row, 0)
    return scores


def _score_balance(held: Int64, _: Int64, request: Int64) -> Int64:
    rows = np.flatnonzero(request > 0)
    available = held[rows].astype(np.float64)
    fractions = np.ones_like(available)
    np.divide(request[rows, None, None], available, out=fractions, where=available > 0)
    variance = fractions.var(axis=0, ddof=1) if len(rows) > 1 else np.zeros(fractions.shape[1:])
    scores = np.trunc((1.0 - variance) * PERFECT)
    scores[(fractions > 1).any(axis=0)] = 0
    return np.clip(scores, 0, PERFECT).astype(np.int64)


def _weigh(share: Callable[[Int64, int], Int64], held: Int64, weights: Int64, request: Int64) -> Int64:
    total, rows = np.zeros(held.shape[1:], dtype=np.int64), np.flatnonzero(request > 0)
    for row in rows.tolist():
        available, wanted = held[row], int(request[row])
        score = share(np.maximum(available, 1), wanted)
        total += np.where(available >= wanted, score * weights[row], 0)
    return total // max(1, int(weights[rows].sum()))


STRATEGIES: dict[str, Strategy] = {
    "LeastAllocated": partial(_weigh, lambda available, wanted: (available - wanted) * PERFECT // available),
    "MostAllocated": partial(_weigh, lambda available, wanted: wanted * PERFECT // available),
    "BalancedAllocation": _score_balance,
}
"""Strategies by upstream's names, except LeastNUMANodes, which works otherwise."""
