"""What a pod is expected to use, before it is measured: Koordinator's default estimator.

For each resource r that has a factor F, with rr its name for pods of that service class, and x the larger of limit and
request of rr:

    estimate = round(x * F / 100), but at most the limit if there is one        250 milli-cores or 200 MiB if x is 0

All whole numbers: cpu in milli-cores, memory in bytes. Halves are rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cost_models.interface import Bool, Float64, Int64, ShapeRow
from cost_models.load_aware.annotations import pod_annotations
from cost_models.load_aware.arguments import Percentages, Settings

PROD = "koord-prod"

_EXTENDED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "koord-batch": {"cpu": "kubernetes.io/batch-cpu", "memory": "kubernetes.io/batch-memory"},
        "koord-mid": {"cpu": "kubernetes.io/mid-cpu", "memory": "kubernetes.io/mid-memory"},
        "koord-free": {},
    }
)
"""Names of resources by service class; a class that is not listed asks for the resources themselves."""

_LEAST: Mapping[str, int] = MappingProxyType(
    {
        "cpu": 250,
        "kubernetes.io/batch-cpu": 250,
        "memory": 200 * 2**20,
        "kubernetes.io/batch-memory": 200 * 2**20,
    }
)
"""Estimates of pods that say nothing, in milli-cores and bytes."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Expected use of tasks by shape: ``amounts``: int64[S, R] in the order of ``Settings.known``.

    ``prod``: bool[S], of class koord-prod. ``after_scheduled``, ``after_initialized``: float64[S], seconds for which
    the estimate counts although there are figures, 0: not at all.
    """

    amounts: Int64
    prod: Bool
    after_scheduled: Float64
    after_initialized: Float64
    notes: tuple[str, ...]


def estimates(
    rows: Sequence[ShapeRow], requests: Int64, resources: Sequence[str], settings: Settings
) -> Estimates:
    """Estimate tasks of every shape; ``requests``: int64[S, K] in the order of ``resources``."""
    column = {name: index for index, name in enumerate(resources)}
    amounts = np.zeros((len(rows), len(settings.known)), dtype=np.int64)
    windows = np.zeros((len(rows), 2))
    windows[:] = settings.after_scheduled, settings.after_initialized
    notes: dict[str, None] = {}
    for index, (row, request) in enumerate(zip(rows, requests.tolist(), strict=True)):
        factors = settings.factors
        if settings.customize and row.annotations:
            custom = pod_annotations(row)
            notes.update(dict.fromkeys(custom.notes))
            factors = {**factors, **custom.factors}
            for place, seconds in enumerate((custom.after_scheduled, custom.after_initialized)):
                if seconds is not None:
                    windows[index, place] = seconds
        limits = dict(row.limits)
        names = _EXTENDED.get(row.service_class)
        for position, resource in enumerate(settings.known):
            if resource in factors:
                name = resource if names is None else names.get(resource, "")
                asked = request[column[name]] if name in column else 0
                amounts[index, position] = estimate(name, asked, limits.get(name, 0), factors[resource])
    prod = np.array([row.service_class == PROD for row in rows], dtype=np.bool_)
    return Estimates(amounts, prod, windows[:, 0], windows[:, 1], tuple(notes))


def estimate(name: str, request: int, limit: int, factor: int) -> int:
    """Expected use of one resource, ``name`` being that of the pod's service class ("": it has none)."""
    amount = max(request, limit)
    if amount == 0:
        return _LEAST.get(name, 0)
    estimated = rounded(float(amount) * float(factor) / 100.0)
    return max(0, min(estimated, limit) if limit > 0 else estimated)


def rounded(value: float) -> int:
    """Round to the nearest whole number, halves away from zero, as Go's math.Round."""
    whole = int(abs(value))
    whole += abs(value) - whole >= 0.5
    return whole if value >= 0 else -whole


def scaled(request: Int64, resources: Sequence[str], factors: Percentages, known: Sequence[str]) -> Float64:
    """Expected use of a task with ``request`` (int64[K]) by the factors alone: float64[R]."""
    position = {name: index for index, name in enumerate(resources)}
    return np.array(
        [
            float(request[position[name]]) * factors.get(name, 0) / 100.0 if name in position else 0.0
            for name in known
        ]
    )
