"""Estimates how much work a class causes in a round: how many checks of each machine its terms take.

The budgets of namespaces use these estimates. The unit is one check: one comparison of one class with one machine. For
a class that states only requests, a round checks every machine once. A round takes a further check of each machine
for every term, expression or counter that it must compare with the machine. The numbers of checks were measured with
the kinds of tasks of `python -m benchmarks hostile`; the times that checks really take differ by at most a factor of
three.
"""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.model import NodeSelectorTerm, TaskSelector

_VALUES_PER_CHECK = 50


def count_checks_of_terms(terms: Sequence[NodeSelectorTerm]) -> int:
    """Return how many checks node selector terms take: one for each expression, and one for every 50 values."""
    values = sum(len(each.values) for term in terms for each in (*term.labels, *term.fields))
    return sum(len(each.labels) + len(each.fields) for each in terms) + values // _VALUES_PER_CHECK


def count_checks_of_selectors(selectors: Sequence[TaskSelector]) -> int:
    """Return how many checks selectors of tasks take.

    A selector takes one check per label expression, and one for every 50 values or namespaces.
    """
    values = sum(len(each.values) for selector in selectors for each in selector.labels)
    values += sum(len(each.namespaces) for each in selectors)
    return sum(len(each.labels) for each in selectors) + values // _VALUES_PER_CHECK
