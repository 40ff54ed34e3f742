"""Matches node selectors and node affinity (In, NotIn, Exists, DoesNotExist, Gt, Lt) with all machines at once.

Semantics of core/v1: one of the terms must match, and all requirements of a term; a term without requirements matches
nothing. NotIn and DoesNotExist also match machines that lack the key. Gt and Lt compare integers; values that are no
integers do not match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool
from firmament.core.model import NodeSelectorTerm, Requirement
from firmament.core.selectors.label_columns import NAME_FIELD, LabelColumn, LabelIndex, parse_integer


class Selectors:
    """Matches selectors against the labels and names of a table of machines."""

    def __init__(self, labels: LabelIndex, names: LabelColumn) -> None:
        self._labels = labels
        self._names = names

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> Bool:
        """Return which machines have every ``key=value`` pair among their labels (a pod's nodeSelector): bool[M]."""
        count = len(self._labels)
        matching = np.ones(count, dtype=np.bool_)
        for key, value in pairs:
            matching &= self._labels.column(key).any_of([value], count)
        return matching

    def terms(self, terms: Sequence[NodeSelectorTerm]) -> Bool:
        """Return which machines match one of the terms: bool[M]."""
        matching = np.zeros(len(self._labels), dtype=np.bool_)
        for term in terms:
            matching |= self.term(term)
        return matching

    def term(self, term: NodeSelectorTerm) -> Bool:
        """Return which machines match every requirement of the term: bool[M]."""
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
    """Return which machines meet one requirement on ``column``: bool[count]."""
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
    numbers, known = column.read_integers()
    matching = known & (numbers > bound if operator == "Gt" else numbers < bound)
    return matching[column.codes[:count]]


def list_named_values(terms: Sequence[NodeSelectorTerm], key: str) -> tuple[str, ...] | None:
    """Return the machine names, or label values, to which ``terms`` restrict a task; None if they require more.

    With the key `NAME_FIELD`, these terms are a DaemonSet pod's affinity (matchFields: metadata.name In [node]); with
    `HOSTNAME`, a local volume's. Machines to which terms restrict a task (a pin) are no part of its shape, so that a
    thousand such tasks share one row over machines.
    """
    values: list[str] = []
    for term in terms:
        asked, others = (term.fields, term.labels) if key == NAME_FIELD else (term.labels, term.fields)
        if len(asked) != 1 or others or asked[0].key != key or asked[0].operator != "In":
            return None
        values.extend(asked[0].values)
    return tuple(sorted(set(values))) if terms else None


def list_singled_out(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """Return the names of the only machines that can match, if each term names machines; None otherwise.

    kube-scheduler considers only these machines (PreFilter of its NodeAffinity).
    """
    names: set[str] = set()
    for term in terms:
        named = [each.values for each in term.fields if each.key == NAME_FIELD and each.operator == "In"]
        if not named:
            return None
        names.update(set(named[0]).intersection(*named[1:]))
    return frozenset(names) if terms else None
