"""Builders for tests of single cost models: machines and shapes in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import MachineColumns, Residents, ShapeBatch, ShapeRow

RESOURCES = ("pods", "cpu", "memory")


def machines(
    *names: str,
    resources: Sequence[str] = RESOURCES,
    capacity: Sequence[Sequence[int]] | None = None,
    free: Sequence[Sequence[int]] | None = None,
    running: Sequence[int] | None = None,
    labels: Sequence[Mapping[str, str]] | None = None,
    annotations: Sequence[Mapping[str, str]] | None = None,
    usage: Sequence[Sequence[float]] | None = None,
    records: Mapping[str, Mapping[str, bytes]] | None = None,
    residents: Residents | None = None,
) -> MachineColumns:
    """Machines of these names; empty, unmeasured and without labels unless told otherwise."""
    count, width = len(names), len(resources)
    has = np.array(capacity if capacity is not None else [[1_000] * width] * count, dtype=np.int64)
    has = has.reshape(count, width)
    return MachineColumns(
        names=names,
        resources=tuple(resources),
        capacity=has,
        free=has if free is None else np.array(free, dtype=np.int64),
        running=np.array([0] * count if running is None else running, dtype=np.int64),
        labels=tuple(labels or [{}] * count),
        annotations=tuple(annotations or [{}] * count),
        usage=np.full((count, width), np.nan) if usage is None else np.array(usage, dtype=np.float64),
        usage_time=np.full(count, np.nan if usage is None else 0.0),
        records=records or {},
        now=0.0,
        residents=residents,
    )


def shapes(
    *rows: ShapeRow, requests: Sequence[Sequence[int]] | None = None, counts: Sequence[int] | None = None
) -> ShapeBatch:
    """Shapes of these rows; one waiting task of each that requests one of everything, unless told otherwise."""
    count = len(rows)
    asked = [[1] * len(RESOURCES)] * count if requests is None else requests
    return ShapeBatch(
        requests=np.array(asked, dtype=np.int64).reshape(count, -1),
        counts=np.array([1] * count if counts is None else counts, dtype=np.int64),
        rows=rows,
    )
