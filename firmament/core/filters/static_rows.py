"""Finds what keeps tasks off machines: rules about machines, pins, free capacity, and rules between tasks.

Rules are asked in the order of kube-scheduler's filters, and the first that refuses a machine counts
(`make_root_causes` merges the other refusals in this order).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.filters.root_causes import Codes, RootCauses, make_root_causes, rule_refusals
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Stage, StatedReason
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.rules.node_name import list_pin_refusals
from firmament.core.rules.node_resources import find_refusals_by_resource
from firmament.core.rules.registry import NodeRules
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import MachineTable


@dataclass(frozen=True, slots=True)
class StaticRow:
    """The lasting refusals of one shape.

    ``feasible``: bool[M]. ``code``: int16[M], index of ``causes`` if a machine is infeasible, -1 if it is feasible.
    """

    feasible: Bool
    code: Codes
    causes: tuple[Cause, ...]

    def add_refusals(self, refused: Bool, cause: Cause) -> StaticRow:
        """Return this row with ``cause`` for the machines in ``refused`` that no earlier cause refuses."""
        newly = self.feasible & refused
        if not newly.any():
            return self
        code = np.where(newly, np.int16(len(self.causes)), self.code)
        return StaticRow(self.feasible & ~refused, code, (*self.causes, cause))

    def merge_alike(self) -> StaticRow:
        """Return this row with causes of equal summary merged, such as the taints of single nodes."""
        index_of: dict[str, int] = {}
        merged = [index_of.setdefault(cause.summary, len(index_of)) for cause in self.causes]
        if len(index_of) == len(merged):
            return self
        first = [merged.index(index) for index in range(len(index_of))]
        code = np.array([*merged, -1], dtype=np.int16)[self.code]
        return StaticRow(self.feasible, code, tuple(self.causes[index] for index in first))

    def refusals(self) -> list[MachineRefusal]:
        """Return the row as refusals, one per cause."""
        return [MachineRefusal(cause, self.code == index) for index, cause in enumerate(self.causes)]


def static_row(machines: MachineTable, shape: TaskClass, rules: NodeRules) -> StaticRow:
    """Return the row of a shape by the rules whose answers last: everything except free capacity and pins."""
    count = len(machines)
    if shape.invalid:
        row = StaticRow(np.ones(count, dtype=np.bool_), np.full(count, -1, dtype=np.int16), ())
        why = Cause(StatedReason(shape.invalid, Stage.NAMED))
        return row.add_refusals(np.ones(count, dtype=np.bool_), why)
    # Each taint gives a refusal of its own, so there may be hundreds of refusals.
    lasting = rules.lasting_refusals(machines, shape)
    first = np.full(count, -1, dtype=np.int16)
    for index in range(len(lasting) - 1, -1, -1):
        first[lasting[index].refused] = index
    used = np.unique(first[first >= 0])
    code_of = np.full(len(lasting) + 1, -1, dtype=np.int16)
    code_of[used] = np.arange(len(used))
    code = code_of[first]
    return StaticRow(code < 0, code, tuple(lasting[index].cause for index in used.tolist()))


class StaticRows:
    """Caches the static rows of shapes until machines change in a way that matters.

    Shapes that are equal for the rules share a row.
    """

    def __init__(self, machines: MachineTable, shapes: Sequence[TaskClass], rules: NodeRules) -> None:
        self.rules = rules
        self._machines = machines
        self._shapes = shapes
        self._version = -1
        self._rows: dict[int, StaticRow] = {}
        self._shared: dict[Hashable, StaticRow] = {}

    def get(self, shape: int) -> StaticRow:
        """Return the row of a shape, cached if possible; rules whose answers do not last are asked each time."""
        row = self.get_lasting(shape)
        for cause, refused in self.rules.passing_refusals(self._machines, self._shapes[shape]):
            row = row.add_refusals(refused, cause)
        return row

    def get_lasting(self, shape: int) -> StaticRow:
        """Return the row of a shape by the rules that depend on the machines' ``static_version`` alone."""
        if self._version != self._machines.static_version:
            self._rows.clear()
            self._shared.clear()
            self._version = self._machines.static_version
        row = self._rows.get(shape)
        if row is None:
            key = self._key(shape)
            row = self._shared.get(key)
            if row is None:
                row = self._shared[key] = static_row(self._machines, self._shapes[shape], self.rules)
            self._rows[shape] = row
        return row

    def renumber(self, new_row: Int64) -> None:
        """Move shapes to new rows: ``new_row[old]``, int64[S], -1 for removed shapes."""
        renumbered = [(int(new_row[shape]), row) for shape, row in self._rows.items()]
        self._rows = {shape: row for shape, row in renumbered if shape >= 0}

    def keep_only(self, shapes: set[int]) -> None:
        """Drop the rows of all shapes but ``shapes``, so that the memory used follows the waiting tasks."""
        for shape in self._rows.keys() - shapes:
            del self._rows[shape]
        self._shared = {self._key(shape): row for shape, row in self._rows.items()}

    def _key(self, shape: int) -> Hashable:
        return self.rules.key(self._machines, self._shapes[shape])


def verdict(
    cluster: Cluster,
    cls: int,
    static: StaticRow,
    free: Int64,
    rules: RuleState,
    index: int,
    others: Iterable[MachineRefusal],
    refusals: Sequence[MachineRefusal] | None = None,
) -> RootCauses:
    """Return why machines refuse a class: for each machine, the first refusal.

    The refusals come in the order of kube-scheduler's filters; ``others`` (models, limits, groups, reservations) come
    last.

    ``cls``: row of the class. ``static``: the lasting refusals of its shape. ``free``: int64[M, K], what machines
    have left for its tasks. ``rules``: rules in which the class has number ``index``. ``refusals``: those of
    ``static``, if already computed.
    """
    request = cluster.request_of(cls)
    pins = list_pin_refusals(cluster, cls)
    found = find_refusals_by_resource(free[:, : len(request)], request, cluster.resources.names)
    found += rule_refusals(rules.refusals(index))
    stated = static.refusals() if refusals is None else refusals
    if pins:
        return make_root_causes(len(cluster.machines), [*pins, *stated, *found, *others])
    return make_root_causes(len(cluster.machines), [*found, *others], (stated, static.code))
