"""How much work a round is expected to have with a class: by what its tasks say, not by what comes of it.

The unit is one look at one machine. A round looks at every machine once for a class that asks for nothing but room, and
once more for each term, expression or counter that it has to hold against it. How often is a property of the class; the
weights below are measured, on the kinds of `python -m benchmarks hostile`, and within a factor of three of each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import NodeSelectorTerm, TaskClass, TaskSelector
from firmament.core.state.classes import ClassRow

ORDINARY = 64
"""Looks at each machine up to which a class is an ordinary one. Ten rules of any kind are fewer."""

_OF_A_TERM = 8
"""Looks at each machine for a term of pod affinity or anti-affinity: two compilations, the plan, admission, reasons."""
_OF_A_SPREAD = 24
_VALUES_PER_LOOK = 50
_TOLERATIONS_PER_LOOK = 4
_OF_A_RESOURCE = 3
_FEW_RESOURCES = 8
"""Resources that ordinary machines offer; it takes columns of their own to hold others against machines."""


def looks(content: TaskClass) -> int:
    """Return how often a round looks at each machine for a class; at least once."""
    over_machines = [term for rule in content.volumes for term in rule.terms]
    over_machines += [*content.required, *(each.term for each in content.preferred)]
    terms = (
        *content.affinity,
        *content.anti_affinity,
        *content.preferred_affinity,
        *content.preferred_anti_affinity,
    )
    selectors = [*(each.selector for each in terms), *(each.selector for each in content.spread)]
    values = sum(map(_values_on_machines, over_machines)) + sum(map(_values_on_tasks, selectors))
    return (
        1
        + len(content.node_selector)
        + sum(len(each.labels) + len(each.fields) for each in over_machines)
        + len(content.tolerations) // _TOLERATIONS_PER_LOOK
        + len(terms) * _OF_A_TERM
        + len(content.spread) * _OF_A_SPREAD
        + sum(len(each.labels) for each in selectors)
        + values // _VALUES_PER_LOOK
        + len(content.ports)
        + len(content.disks)
        + len(content.new_storage)
        + max(0, len(content.requests) - _FEW_RESOURCES) * _OF_A_RESOURCE
    )


def _values_on_machines(term: NodeSelectorTerm) -> int:
    return sum(len(each.values) for each in (*term.labels, *term.fields))


def _values_on_tasks(selector: TaskSelector) -> int:
    return sum(len(each.values) for each in selector.labels) + len(selector.namespaces)


class ClassWork:
    """The looks of the classes of a table, each worked out once."""

    def __init__(self, rows: Sequence[ClassRow]) -> None:
        self._rows = rows
        self._looks = np.empty(0, dtype=np.int64)

    def looks(self) -> Int64:
        """Return int64[C] by class row; not to be written to."""
        known = len(self._looks)
        if known < len(self._rows):
            new = [looks(row.content) for row in self._rows[known:]]
            self._looks = np.append(self._looks, np.array(new, dtype=np.int64))
        return self._looks

    def forget(self) -> None:
        """Rows stand for other classes now."""
        self._looks = self._looks[:0]
