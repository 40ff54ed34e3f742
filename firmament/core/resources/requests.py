"""What a task of each shape requests, and is assumed to need beyond that, as rows over resources.

What no machine offers has no column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import TaskClass
from firmament.core.resources.columns import NO_COLUMN, ResourceIndex, widened


class ShapeRequests:
    """One row per row of the table of shapes, written when it is first asked for.

    What no machine offers has no column, and is not in any row. A row is written anew once that has changed.
    """

    def __init__(self, resources: ResourceIndex, shapes: Sequence[TaskClass]) -> None:
        """``shapes``: the table, which may grow. When its rows change, `forget` has to be called."""
        self._resources = resources
        self._shapes = shapes
        self._rows = np.zeros((0, len(resources)), dtype=np.int64)
        self._assumed = np.zeros((0, len(resources)), dtype=np.int64)
        self._known = np.zeros(0, dtype=np.bool_)
        self._version = resources.version

    def of(self, shape: int) -> Int64:
        """Requests of one shape, int64[<= K]; not to be written to."""
        self._look()
        if shape >= len(self._known) or not self._known[shape]:
            self._learn(np.array([shape]))
        return self._rows[shape]

    def assumed_of(self, shape: int) -> Int64:
        """What a task of one shape is assumed to need beyond its requests, int64[<= K]; not to be written to."""
        self.of(shape)
        return self._assumed[shape]

    def rows(self, shapes: Sequence[int]) -> Int64:
        """Requests of several shapes: int64[len(shapes), K]."""
        asked = self._learnt(shapes)
        return self._rows[asked]

    def assumed_rows(self, shapes: Sequence[int]) -> Int64:
        """What tasks of several shapes are assumed to need beyond their requests: int64[len(shapes), K]."""
        asked = self._learnt(shapes)
        return self._assumed[asked]

    def _learnt(self, shapes: Sequence[int]) -> Int64:
        """``shapes`` as an array; their rows are written."""
        asked = np.array(shapes, dtype=np.int64)
        self._look()
        self._fit()
        if not self._known[asked].all():
            self._learn(asked[~self._known[asked]])
            self._fit()
        return asked

    def forget(self) -> None:
        """Shapes have other rows now."""
        self._known[:] = False

    def _learn(self, shapes: Int64) -> None:
        """Write the rows of ``shapes`` (int64[N])."""
        contents = [self._shapes[shape] for shape in shapes.tolist()]
        for name, stated in (
            ("_rows", [content.requests for content in contents]),
            ("_assumed", [content.assumed for content in contents]),
        ):
            named = [resource for amounts in stated for resource, _ in amounts]
            columns = np.array(self._resources.columns(named), dtype=np.int64)
            self._fit()
            rows = getattr(self, name)
            rows[shapes] = 0
            of_shape = np.repeat(shapes, [len(amounts) for amounts in stated])
            asked = np.array([amount for amounts in stated for _, amount in amounts], dtype=np.int64)
            offered = columns != NO_COLUMN
            rows[of_shape[offered], columns[offered]] = asked[offered]
        self._known[shapes] = True

    def _look(self) -> None:
        """Forget rows over other columns than there are now."""
        if self._version != self._resources.version:
            self._version = self._resources.version
            self._rows = np.zeros((0, len(self._resources)), dtype=np.int64)
            self._assumed = np.zeros((0, len(self._resources)), dtype=np.int64)
            self._known = np.zeros(0, dtype=np.bool_)

    def _fit(self) -> None:
        """Make room for all shapes and resources that there are."""
        self._rows = widened(self._rows, len(self._shapes), len(self._resources))
        self._assumed = widened(self._assumed, len(self._shapes), len(self._resources))
        new = len(self._rows) - len(self._known)
        self._known = np.append(self._known, np.zeros(new, dtype=np.bool_)) if new else self._known
