"""How much work a round is expected to have with a class: by what its tasks say, not by what comes of it.

The unit is one look at one machine. A round looks at every machine once for a class that asks for nothing but room, and
once more for each term, expression or counter that it has to hold against it. How often is a property of the class, but
for terms about other tasks: each class that waits and is selected by one is more work. The weights are measured, on the
kinds of `python -m benchmarks hostile`, and within a factor of three of each other.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.model import NodeSelectorTerm, TaskClass, TaskSelector, TaskTerm
from firmament.core.state.cluster import Cluster

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
    terms = _terms(content)
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


def _terms(content: TaskClass) -> tuple[TaskTerm, ...]:
    return (
        *content.affinity,
        *content.anti_affinity,
        *content.preferred_affinity,
        *content.preferred_anti_affinity,
    )


def _values_on_machines(term: NodeSelectorTerm) -> int:
    return sum(len(each.values) for each in (*term.labels, *term.fields))


def _values_on_tasks(selector: TaskSelector) -> int:
    return sum(len(each.values) for each in selector.labels) + len(selector.namespaces)


PAIR = 1_000
"""Looks at a machine for each class that waits beside one which has a term that selects it."""

_SAMPLE = 4
"""Terms of a class that are held against the others to see how many it selects; all are taken to be like these."""


class ClassWork:
    """What the classes of a cluster are expected to take, in looks at all machines.

    ``looks``: int64[C] by class row, each class by itself; ``terms``: int64[C], its terms about other tasks.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.looks = self.terms = np.empty(0, dtype=np.int64)

    def bring_up(self) -> None:
        """Look at the classes that have been defined since."""
        rows, known = self._cluster.classes.rows, len(self.looks)
        if known < len(rows):
            new = [row.content for row in rows[known:]]
            self.looks = np.append(self.looks, np.array(list(map(looks, new)), dtype=np.int64))
            terms = [len(_terms(content)) for content in new]
            self.terms = np.append(self.terms, np.array(terms, dtype=np.int64))

    def forget(self) -> None:
        """Rows stand for other classes now."""
        self.looks = self.terms = self.looks[:0]

    def count_among(self, row: int, present: Bool) -> int:
        """Return the looks at all machines that a class takes as it selects some of ``present`` (bool[C])."""
        if not self.terms[row]:
            return 0
        selector = self._cluster.selector()
        held = selector.list_terms(row)
        some = held[:_SAMPLE]
        found = sum(int(np.count_nonzero(present[selector.find_selected(term)])) for term in some)
        return found * len(held) * PAIR // (len(some) * max(1, len(self._cluster.machines)))
