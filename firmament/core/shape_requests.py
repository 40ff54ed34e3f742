"""What a task of each shape requests, as rows over resources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import TaskClass
from firmament.core.resources import ResourceIndex, widened


class ShapeRequests:
    """One row per row of the table of shapes, written when it is first asked for: new names get columns then."""

    def __init__(self, resources: ResourceIndex, shapes: Sequence[TaskClass]) -> None:
        """``shapes``: the table, which may grow. When its rows change, `forget` has to be called."""
        self._resources = resources
        self._shapes = shapes
        self._rows = np.zeros((0, len(resources)), dtype=np.int64)
        self._known = np.zeros(0, dtype=np.bool_)

    def of(self, shape: int) -> Int64:
        """Requests of one shape, int64[<= K]; not to be written to."""
        if shape >= len(self._known) or not self._known[shape]:
            self._learn(np.array([shape]))
        return self._rows[shape]

    def rows(self, shapes: Sequence[int]) -> Int64:
        """Requests of several shapes: int64[len(shapes), K]."""
        asked = np.array(shapes, dtype=np.int64)
        self._fit()
        if not self._known[asked].all():
            self._learn(asked[~self._known[asked]])
        return self._rows[asked]

    def forget(self) -> None:
        """Shapes have other rows now."""
        self._known[:] = False

    def _learn(self, shapes: Int64) -> None:
        """Write the rows of ``shapes`` (int64[N])."""
        contents = [self._shapes[shape].requests for shape in shapes.tolist()]
        columns = self._resources.columns([name for requests in contents for name, _ in requests])
        self._fit()
        self._rows[shapes] = 0
        rows = np.repeat(shapes, [len(requests) for requests in contents])
        self._rows[rows, columns] = [amount for requests in contents for _, amount in requests]
        self._known[shapes] = True

    def _fit(self) -> None:
        """Make room for all shapes and resources that there are."""
        self._rows = widened(self._rows, len(self._shapes), len(self._resources))
        new = len(self._rows) - len(self._known)
        self._known = np.append(self._known, np.zeros(new, dtype=np.bool_)) if new else self._known
