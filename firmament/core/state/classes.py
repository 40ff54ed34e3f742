"""Keeps task classes, and the shapes that several classes may share.

A *shape* is the part of a class for which arrays over all machines are computed: requests, selectors, affinity,
tolerations, and what models see. A *class* adds what concerns few machines or tasks: the machines that it is pinned
to, and its rules about other tasks. Equal contents are stored once, so equal classes share a row, however often and
under whatever number a driver defines them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, KeysView
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.events import InvalidEventError
from firmament.core.model import PODS, TaskClass
from firmament.core.selectors.label_columns import HOSTNAME, NAME_FIELD
from firmament.core.selectors.node_selector_operators import list_named_values


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One class of the table: its content, the row of its shape, and its pins.

    ``pins``: names of the machines to which the class is confined. ``hosts``: values of the label `HOSTNAME`, one of
    which its machine must have because a volume is there. None: the class may use any machine.
    """

    content: TaskClass
    shape: int
    pins: tuple[str, ...] | None
    hosts: tuple[str, ...] | None = None

    @property
    def pinned(self) -> bool:
        """Whether the class is confined to some machines."""
        return self.pins is not None or self.hosts is not None


_OF_CLASSES = {
    "machine",
    "affinity",
    "anti_affinity",
    "preferred_affinity",
    "preferred_anti_affinity",
    "spread",
    "ports",
    "terminating",
    "never_preempts",
    "runs_to_completion",
    "group",
    "run_seconds",
    "profile",
}
"""Fields in which classes of one shape may differ; in a shape, these fields have their defaults."""
SHAPE_FIELDS = tuple(each.name for each in fields(TaskClass) if each.name not in _OF_CLASSES)
"""Fields in which shapes may differ: all other fields."""

_shape_fields: Callable[[TaskClass], tuple[Any, ...]] = attrgetter(*SHAPE_FIELDS)

LEAST_SURPLUS = 64
"""If fewer classes than this have no number, their rows are not worth dropping."""


class Renumbered(NamedTuple):
    """The new row of each old row, -1 for dropped rows: int64[C] for classes, and int64[S] for shapes."""

    classes: Int64
    shapes: Int64


class ClassTable:
    """The classes and shapes of a cluster, each stored once. Rows keep their numbers until ``forget`` is called."""

    def __init__(self, model_labels: frozenset[str] = frozenset(), *, model_namespaces: bool = False) -> None:
        """``model_labels``, ``model_namespaces``: what models see of labels and namespaces; shapes differ by it."""
        self._model_labels = model_labels
        self._model_namespaces = model_namespaces
        self.rows: list[ClassRow] = []
        self.shapes: list[TaskClass] = []
        self._row_of: dict[TaskClass, int] = {}
        self._shape_of: dict[TaskClass, int] = {}
        self._row_of_number: dict[int, int] = {}
        self._numbers_of: list[int] = []
        self._surplus = 0
        #: By fields: how many classes have been checked, and the rows of those that state something in these fields.
        self._stating: dict[tuple[str, ...], tuple[int, list[int]]] = {}

    def define(self, number: int, content: TaskClass) -> int:
        """Let ``number`` stand for the class ``content``; return the row of the class.

        The caller has checked for conflicts.
        """
        row = self._row_of.setdefault(content, len(self.rows))
        if row == len(self.rows):
            shape, pins, hosts = self._split(content)
            self.rows.append(
                ClassRow(
                    content=content,
                    shape=self._shape_of.setdefault(shape, len(self.shapes)),
                    pins=pins,
                    hosts=hosts,
                )
            )
            self._numbers_of.append(0)
            if len(self._shape_of) > len(self.shapes):
                self.shapes.append(shape)
        if self._row_of_number.get(number) != row:
            self._row_of_number[number] = row
            self._numbers_of[row] += 1
        return row

    def list_stating(self, names: tuple[str, ...]) -> list[int]:
        """Return the rows of the classes that state something in any of the fields ``names``, ascending."""
        looked, found = self._stating.get(names, (0, []))
        if looked < len(self.rows):
            stated = attrgetter(*names, names[0])  # With one name alone, attrgetter would return no tuple.
            new = enumerate(self.rows[looked:], looked)
            found = found + [row for row, each in new if any(stated(each.content))]
            self._stating[names] = len(self.rows), found
        return found

    def remove(self, number: int) -> None:
        """Let ``number`` no longer stand for a class. The row stays until ``forget``."""
        row = self._row_of_number.pop(number)
        self._numbers_of[row] -= 1
        self._surplus += not self._numbers_of[row]

    @property
    def has_surplus(self) -> bool:
        """Whether many rows, at least a fourth of all, have lost their last number since ``forget`` was called."""
        return self._surplus >= max(LEAST_SURPLUS, len(self.rows) // 4)

    def forget(self, used: Collection[int]) -> Renumbered:
        """Drop the rows that have no number and are not ``used``; the other rows keep their order.

        The lists of rows are changed in place.
        """
        self._surplus = 0
        keeps = np.array(self._numbers_of, dtype=np.int64) > 0
        keeps[list(used)] = True
        kept = np.flatnonzero(keeps).tolist()
        shape_kept = np.zeros(len(self.shapes), dtype=np.bool_)
        shape_kept[[self.rows[row].shape for row in kept]] = True
        moved = Renumbered(_positions(keeps), _positions(shape_kept))
        self.shapes[:] = [self.shapes[shape] for shape in np.flatnonzero(shape_kept).tolist()]
        self.rows[:] = [
            replace(self.rows[row], shape=int(moved.shapes[self.rows[row].shape])) for row in kept
        ]
        self._stating.clear()
        self._numbers_of = [self._numbers_of[row] for row in kept]
        self._row_of = {row.content: index for index, row in enumerate(self.rows)}
        self._shape_of = {shape: index for index, shape in enumerate(self.shapes)}
        self._row_of_number = {number: int(moved.classes[row]) for number, row in self._row_of_number.items()}
        return moved

    @property
    def numbers(self) -> KeysView[int]:
        """The numbers that stand for a class."""
        return self._row_of_number.keys()

    def row(self, number: int) -> int:
        """Return the row of the class for which a number stands.

        Raise ``InvalidEventError`` if the number is not defined.
        """
        row = self._row_of_number.get(number)
        if row is None:
            raise InvalidEventError(f"task class {number} is not defined; define a class before its tasks")
        return row

    def content(self, number: int) -> TaskClass | None:
        """Return the content that ``number`` stands for, or None."""
        row = self._row_of_number.get(number)
        return None if row is None else self.rows[row].content

    def _split(self, content: TaskClass) -> tuple[TaskClass, tuple[str, ...] | None, tuple[str, ...] | None]:
        """Return the shape, the pins and the hosts of a class.

        Every task uses one unit of the resource ``pods``, whatever its class says.
        """
        requests = {name: amount for name, amount in content.requests if amount > 0}
        requests[PODS] = 1
        named = list_named_values(content.required, NAME_FIELD) if content.required else None
        pins = named
        if content.machine:
            pins = (content.machine,) if named is None or content.machine in named else ()
        hosts: set[str] | None = None
        volumes = []
        for rule in content.volumes:
            values = None if rule.reason or rule.in_use else list_named_values(rule.terms, HOSTNAME)
            if values is None:
                volumes.append(rule)
            else:
                hosts = set(values) if hosts is None else hosts & set(values)
        shape = dict(zip(SHAPE_FIELDS, _shape_fields(content), strict=True))
        shape["requests"] = tuple(sorted(requests.items()))
        shape["assumed"] = tuple(sorted(pair for pair in content.assumed if pair[1] > 0))
        shape["labels"] = tuple(pair for pair in content.labels if pair[0] in self._model_labels)
        shape["volumes"] = tuple(volumes)
        if named is not None:
            shape["required"] = ()
        if not self._model_namespaces:
            shape["namespace"] = ""
        return TaskClass(**shape), pins, None if hosts is None else tuple(sorted(hosts))


def _positions(kept: Bool) -> Int64:
    """Return the new index of each entry after all entries not ``kept`` are dropped, -1 for these: int64[N]."""
    return np.where(kept, np.cumsum(kept) - 1, -1)
