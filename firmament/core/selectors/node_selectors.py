"""Node selectors and node affinity over all machines at once.

Semantics as in core/v1: terms are ORed, requirements of a term ANDed, a term without requirements matches nothing;
NotIn and DoesNotExist also match machines that lack the key; Gt and Lt compare integers and match nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool
from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.selectors.labels import LabelColumn, LabelIndex, parse_integer

NAME_FIELD = "metadata.name"
HOSTNAME = "kubernetes.io/hostname"


class Selectors:
    """Matches selectors against labels and names of a table of machines."""

    def __init__(self, labels: LabelIndex, names: LabelColumn) -> None:
        self._labels = labels
        self._names = names

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> Bool:
        """bool[M]: machines that carry every ``key=value`` pair (a pod's nodeSelector)."""
        count = len(self._labels)
        matching = np.ones(count, dtype=np.bool_)
        for key, value in pairs:
            matching &= self._labels.column(key).any_of([value], count)
        return matching

    def terms(self, terms: Sequence[NodeSelectorTerm]) -> Bool:
        """bool[M]: machines that match one of the terms."""
        matching = np.zeros(len(self._labels), dtype=np.bool_)
        for term in terms:
            matching |= self.term(term)
        return matching

    def term(self, term: NodeSelectorTerm) -> Bool:
        """bool[M]: machines that match every requirement of the term."""
        count = len(self._labels)
        if not term.labels and not term.fields:
            return np.zeros(count, dtype=np.bool_)
        matching = np.ones(count, dtype=np.bool_)
        for requirement in term.labels:
            matching &= _requirement(requirement, self._labels.column(requirement.key), count)
        for requirement in term.fields:
            if requirement.key != NAME_FIELD:
                return np.zeros(count, dtype=np.bool_)
            matching &= _requirement(requirement, self._names, count)
        return matching


def _requirement(requirement: Requirement, column: LabelColumn, count: int) -> Bool:
    """bool[count]: machines that meet one requirement on ``column``."""
    operator = requirement.operator
    if operator == "In":
        return column.any_of(requirement.values, count)
    if operator == "NotIn":
        return ~column.any_of(requirement.values, count)
    if operator == "Exists":
        return column.present(count)
    if operator == "DoesNotExist":
        return ~column.present(count)
    bound = parse_integer(requirement.values[0])
    if bound is None:
        return np.zeros(count, dtype=np.bool_)
    return column.compared(operator, bound, count)


def named_values(terms: Sequence[NodeSelectorTerm], key: str) -> tuple[str, ...] | None:
    """The machine names (`NAME_FIELD`), or values of a label, that ``terms`` single out; None if they say more.

    With names this is the shape of a DaemonSet pod's affinity (matchFields: metadata.name In [node]), with `HOSTNAME`
    that of a local volume's. Such a pin is kept out of a task's shape, so that a thousand of them share one row over
    machines.
    """
    values: list[str] = []
    for term in terms:
        asked, others = (term.fields, term.labels) if key == NAME_FIELD else (term.labels, term.fields)
        if len(asked) != 1 or others or asked[0].key != key or asked[0].operator != "In":
            return None
        values.extend(asked[0].values)
    return tuple(sorted(set(values))) if terms else None


def singled_out(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The machines outside of which no term can match, as each of them names some; None if one names none.

    kube-scheduler looks at these machines alone (the PreFilter of its NodeAffinity).
    """
    names: set[str] = set()
    for term in terms:
        named = [each.values for each in term.fields if each.key == NAME_FIELD and each.operator == "In"]
        if not named:
            return None
        names.update(set(named[0]).intersection(*named[1:]))
    return frozenset(names) if terms else None
