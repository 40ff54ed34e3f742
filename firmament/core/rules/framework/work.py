"""How often a round looks at each machine for what a rule reads: rules say it, and budgets of namespaces go by it.

The unit is one look at one machine. A round looks at every machine once for a class that asks for nothing but room, and
once more for each term, expression or counter that it has to hold against it. The weights are measured, on the kinds of
`python -m benchmarks hostile`, and within a factor of three of each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.model import NodeSelectorTerm, TaskSelector

_VALUES_PER_LOOK = 50


def count_of_terms(terms: Sequence[NodeSelectorTerm]) -> int:
    """Return the looks for terms about machines: one for each expression, and more for lists of values."""
    values = sum(len(each.values) for term in terms for each in (*term.labels, *term.fields))
    return sum(len(each.labels) + len(each.fields) for each in terms) + values // _VALUES_PER_LOOK


def count_of_selectors(selectors: Sequence[TaskSelector]) -> int:
    """Return the looks for selectors of tasks, likewise."""
    values = sum(len(each.values) for selector in selectors for each in selector.labels)
    values += sum(len(each.namespaces) for each in selectors)
    return sum(len(each.labels) for each in selectors) + values // _VALUES_PER_LOOK
