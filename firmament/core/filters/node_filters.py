"""What keeps tasks off machines: of a shape everything but room, all of them if it asks for what none has; of a class
its pins, a lack of room, rules between tasks, and others besides.

Rules in kube-scheduler's order of filters; the first that refuses a machine holds (`root_causes` puts the others
between).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.filters.root_causes import (
    Codes,
    MachineRefusal,
    RootCauses,
    lacks,
    root_causes,
    rule_refusals,
)
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Reason, Stage, StatedReason, lack_of, of_volume, untolerated
from firmament.core.selectors.labels import HOSTNAME, singled_out
from firmament.core.selectors.taints import CORDON_TAINT, NOT_READY_TAINT, tolerated
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import MachineTable


@dataclass(frozen=True, slots=True)
class StaticRow:
    """``feasible``: bool[M]; ``code``: int16[M], index into ``causes`` where not feasible, -1 where feasible."""

    feasible: Bool
    code: Codes
    causes: tuple[Cause, ...]

    def with_refusals(self, refused: Bool, cause: Cause) -> StaticRow:
        """This row with further machines refused for ``cause``; machines refused before keep their cause."""
        newly = self.feasible & refused
        if not newly.any():
            return self
        code = np.where(newly, np.int16(len(self.causes)), self.code)
        return StaticRow(self.feasible & ~refused, code, (*self.causes, cause))

    def refusals(self) -> list[MachineRefusal]:
        """What the row says, cause by cause."""
        return [MachineRefusal(cause, self.code == index) for index, cause in enumerate(self.causes)]


def static_row(machines: MachineTable, shape: TaskClass) -> StaticRow:
    """Judge every machine for a shape by everything but room and pins."""
    count = len(machines)
    row = StaticRow(np.ones(count, dtype=np.bool_), np.full(count, -1, dtype=np.int16), ())
    if shape.invalid:
        return row.with_refusals(
            np.ones(count, dtype=np.bool_), Cause(StatedReason(shape.invalid, Stage.NAMED))
        )
    named = singled_out(shape.required) if shape.required else None
    if named is not None:
        row = row.with_refusals(~machines.named(named), Cause(Reason.NOT_NAMED))
    if machines.cordoned.any() and not tolerated(shape.tolerations, CORDON_TAINT):
        row = row.with_refusals(machines.cordoned, Cause(Reason.CORDONED))
    if machines.taints.groups:
        first, taints = machines.taints.first_untolerated(shape.tolerations, count)
        for index, taint in enumerate(taints):
            row = row.with_refusals(first == index, untolerated(taint))
    if machines.not_ready.any() and not tolerated(shape.tolerations, NOT_READY_TAINT):
        row = row.with_refusals(machines.not_ready, Cause(Reason.NOT_READY))
    if shape.node_selector:
        wrong = ~machines.selectors().pairs(shape.node_selector)
        row = row.with_refusals(wrong, Cause(Reason.WRONG_LABELS))
    if shape.required:
        wrong = ~machines.selectors().terms(shape.required)
        row = row.with_refusals(wrong, Cause(Reason.WRONG_LABELS))
    later = [
        MachineRefusal(lack_of(name), np.ones(count, dtype=np.bool_))
        for name in _offered_nowhere(machines, shape)[:1]
    ]
    later += [
        MachineRefusal(
            Cause(of_volume(rule.reason, in_use=rule.in_use)), ~machines.selectors().terms(rule.terms)
        )
        for rule in shape.volumes
    ]
    for cause, refused in sorted(later, key=lambda each: each.cause.reason.stage):
        row = row.with_refusals(refused, cause)
    return row


def _offered_nowhere(machines: MachineTable, shape: TaskClass) -> tuple[str, ...]:
    """The resources that a shape asks for and no machine offers."""
    return tuple(name for name, amount in shape.requests if amount and name not in machines.resources)


Rules = tuple[Hashable, ...]
"""What a static row depends on; shapes that differ in amounts alone have it in common."""


def _rules(machines: MachineTable, shape: TaskClass) -> Rules:
    return (
        shape.invalid,
        shape.tolerations,
        shape.node_selector,
        shape.required,
        shape.volumes,
        _offered_nowhere(machines, shape)[:1],
    )


class StaticRows:
    """Static rows by shape, kept as long as no machine changed in a way that they depend on.

    Shapes with equal rules share one row.
    """

    def __init__(self, machines: MachineTable, shapes: Sequence[TaskClass]) -> None:
        self._machines = machines
        self._shapes = shapes
        self._version = -1
        self._rows: dict[int, StaticRow] = {}
        self._shared: dict[Rules, StaticRow] = {}

    def of(self, shape: int) -> StaticRow:
        """The row of a shape, computed if need be. Room for new volumes comes and goes, and is looked at each time."""
        row = self._by_description(shape)
        wanted = self._shapes[shape].new_storage
        if not wanted:
            return row
        lacking = self._machines.storage.refused(wanted, len(self._machines))
        return row.with_refusals(lacking, Cause(Reason.NO_STORAGE))

    def _by_description(self, shape: int) -> StaticRow:
        """The row of a shape by what depends on the ``static_version``."""
        if self._version != self._machines.static_version:
            self._rows.clear()
            self._shared.clear()
            self._version = self._machines.static_version
        row = self._rows.get(shape)
        if row is None:
            rules = _rules(self._machines, self._shapes[shape])
            row = self._shared.get(rules)
            if row is None:
                row = self._shared[rules] = static_row(self._machines, self._shapes[shape])
            self._rows[shape] = row
        return row

    def renumber(self, new_row: Int64) -> None:
        """Shapes have other rows now: ``new_row[old]``, int64[S], -1 for those that are gone."""
        renumbered = [(int(new_row[shape]), row) for shape, row in self._rows.items()]
        self._rows = {shape: row for shape, row in renumbered if shape >= 0}

    def keep_only(self, shapes: set[int]) -> None:
        """Drop rows of shapes that no task waits for, so that memory follows the pending work."""
        for shape in self._rows.keys() - shapes:
            del self._rows[shape]
        self._shared = {_rules(self._machines, self._shapes[shape]): row for shape, row in self._rows.items()}


def pinned_rows(cluster: Cluster, cls: int) -> Int64 | None:
    """Rows of the machines that the class in row ``cls`` is confined to, ascending; None if it is not pinned."""
    row = cluster.classes.rows[cls]
    rows: Int64 | None = None
    if row.pins is not None:
        known = cluster.machines.row_of
        rows = np.array(sorted(known[name] for name in row.pins if name in known), dtype=np.int64)
    if row.hosts is not None:
        on_hosts = _on_hosts(cluster, row.hosts)
        rows = on_hosts if rows is None else np.intersect1d(rows, on_hosts)
    return rows


def pin_refusals(cluster: Cluster, cls: int) -> list[MachineRefusal]:
    """The machines outside the pins of the class in row ``cls``: by its names, and by its local volumes."""
    row = cluster.classes.rows[cls]
    found = []
    if row.pins is not None:
        named = Cause(Reason.WRONG_NAME if row.content.machine else Reason.NOT_NAMED)
        found.append(MachineRefusal(named, ~cluster.machines.named(row.pins)))
    if row.hosts is not None:
        outside = np.ones(len(cluster.machines), dtype=np.bool_)
        outside[_on_hosts(cluster, row.hosts)] = False
        found.append(MachineRefusal(Cause(Reason.WRONG_VOLUMES), outside))
    return found


def _on_hosts(cluster: Cluster, hosts: tuple[str, ...]) -> Int64:
    column = cluster.machines.labels.column(HOSTNAME)
    return np.flatnonzero(column.any_of(hosts, len(cluster.machines)))


def verdict(
    cluster: Cluster,
    cls: int,
    static: StaticRow,
    free: Int64,
    rules: RuleState | None,
    index: int,
    others: Iterable[MachineRefusal],
) -> RootCauses:
    """Kube-scheduler's filters in its order, then ``others``: what models, limits, groups and reservations refuse.

    ``cls``: row of the class; ``static``: what its shape is refused by itself; ``free``: int64[M, K], room as its tasks
    see it; ``rules``: None for none, in which the class is number ``index``.
    """
    request = cluster.request_of(cls)
    found = pin_refusals(cluster, cls) + static.refusals()
    found += lacks(free[:, : len(request)], request, cluster.resources.names)
    found += [] if rules is None else rule_refusals(rules.refusals(index))
    return root_causes(len(cluster.machines), [*found, *others])
