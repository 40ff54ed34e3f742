"""Short builders of what models are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import MachineColumns, Residents, ShapeBatch, ShapeRow

RESOURCES = ("pods", "cpu", "memory")


def machine_columns(
    labels: Mapping[str, Mapping[str, str]] | Sequence[str],
    *,
    capacity: Sequence[int] = (100, 1_000, 1_000),
    resources: Sequence[str] = RESOURCES,
    free: Sequence[Sequence[int]] | None = None,
    usage: Sequence[Sequence[float]] | None = None,
    residents: Sequence[tuple[int, ShapeRow, int]] = (),
    records: Mapping[str, Mapping[str, bytes]] | None = None,
) -> MachineColumns:
    """Equal machines by name, with labels if given by name. ``residents``: (machine row, kind, count) each."""
    names = list(labels)
    count = len(names)
    all_capacity = np.tile(np.array(capacity, dtype=np.int64), (count, 1))
    running = np.zeros(count, dtype=np.int64)
    for row, _, number in residents:
        running[row] += number
    return MachineColumns(
        names=names,
        resources=tuple(resources),
        capacity=all_capacity,
        free=all_capacity.copy() if free is None else np.array(free, dtype=np.int64),
        running=running,
        labels=[labels[name] for name in names] if isinstance(labels, Mapping) else [{}] * count,
        annotations=[{}] * count,
        usage=np.full(all_capacity.shape, np.nan) if usage is None else np.array(usage, dtype=np.float64),
        usage_time=np.full(count, np.nan if usage is None else 0.0),
        records=records or {},
        now=0.0,
        residents=Residents(
            machine=np.array([row for row, _, _ in residents], dtype=np.int64),
            kind=np.arange(len(residents), dtype=np.int64),
            count=np.array([number for _, _, number in residents], dtype=np.int64),
            kinds=[kind for _, kind, _ in residents],
            requests=np.zeros((len(residents), len(resources)), dtype=np.int64),
        ),
    )


def shape_batch(
    *rows: ShapeRow, request: Sequence[int] = (1, 100, 100), counts: Sequence[int] | None = None
) -> ShapeBatch:
    """Shapes of equal requests, one waiting task of each unless told otherwise."""
    return ShapeBatch(
        requests=np.tile(np.array(request, dtype=np.int64), (len(rows), 1)),
        counts=np.array([1] * len(rows) if counts is None else counts, dtype=np.int64),
        rows=rows,
    )
