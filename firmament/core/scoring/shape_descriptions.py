"""What models may see of shapes besides requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from cost_models.interface import ShapeRow
from firmament.core.model import TaskClass
from firmament.core.state.cluster import Cluster


class ShapeRows(Sequence[ShapeRow]):
    """Rows of some shapes, all of them made when the first is looked at: the default policy looks at none."""

    __slots__ = ("_contents", "_made")

    def __init__(self, contents: Sequence[TaskClass]) -> None:
        self._contents = contents
        self._made: list[ShapeRow] = []

    def __len__(self) -> int:
        return len(self._contents)

    @overload
    def __getitem__(self, index: int) -> ShapeRow: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ShapeRow]: ...

    def __getitem__(self, index: int | slice) -> ShapeRow | Sequence[ShapeRow]:
        return self._rows()[index]

    def __iter__(self) -> Iterator[ShapeRow]:
        return iter(self._rows())

    def _rows(self) -> list[ShapeRow]:
        if not self._made:
            self._made = [_shape_row(content) for content in self._contents]
        return self._made


def shape_rows(cluster: Cluster, shapes: Sequence[int]) -> ShapeRows:
    """What models may see of each of ``shapes`` (rows of the table), now and later."""
    return ShapeRows([cluster.classes.shapes[shape] for shape in shapes])


def _shape_row(content: TaskClass) -> ShapeRow:
    return ShapeRow(
        namespace=content.namespace,
        labels=dict(content.labels),
        annotations=dict(content.annotations),
        containers=content.containers,
        qos=content.qos,
        overhead=content.overhead,
        limits=content.limits,
        service_class=content.service_class,
        daemon=content.daemon,
    )
