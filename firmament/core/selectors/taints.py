"""Groups machines by their taints, so that each toleration is checked once per group.

Machines with equal taints share a code. Semantics as in core/v1 at scheduling time: NoSchedule and NoExecute keep a
task away unless it tolerates the taint; PreferNoSchedule only adds to the cost.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import Taint, Toleration
from firmament.core.selectors.label_columns import CodedColumn, parse_integer

HARD_EFFECTS = ("NoSchedule", "NoExecute")
CORDON_TAINT = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
"""The taint that every cordoned machine is treated as having; tasks that tolerate it may still go there."""


NOT_READY_TAINT = Taint(key="node.kubernetes.io/not-ready", value="", effect="NoSchedule")
"""The taint that a machine which is not ready is treated as having, even if the cluster has not set it yet."""


FEW = 4
"""Up to this number of tolerations, checking each is faster than a look-up."""

COMPARING = ("Gt", "Lt")
"""Operators of tolerations that compare integers."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether one toleration matches one taint (core/v1 Toleration.ToleratesTaint)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in COMPARING:
        return bool(toleration.key) and _compares(toleration, taint)
    return bool(toleration.key) and toleration.value == taint.value


def parse_compared_integer(text: str) -> int | None:
    """Return the integer that a toleration compares, or None.

    None: the text has leading zeros or a plus sign, or is no integer.
    """
    number = parse_integer(text)
    return number if str(number) == text else None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Return whether the taint's value lies above (Gt) or below (Lt) the toleration's (KEP-5471)."""
    bound, found = parse_compared_integer(toleration.value), parse_compared_integer(taint.value)
    if bound is None or found is None:
        return False
    return found > bound if toleration.operator == "Gt" else found < bound


def is_tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Return whether any of the tolerations matches the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


class Tolerated:
    """The taints that at least one of some tolerations matches, as by `is_tolerated`, with a fast look-up."""

    def __init__(self, tolerations: Sequence[Toleration]) -> None:
        self._few = tolerations if len(tolerations) <= FEW else None
        if self._few is not None:
            return
        self._of_keys = {(each.key, each.effect) for each in tolerations if each.operator == "Exists"}
        self._of_values = {
            (each.key, each.value, each.effect) for each in tolerations if each.operator == "Equal"
        }
        self._comparing = [each for each in tolerations if each.operator in COMPARING]

    def __contains__(self, taint: Taint) -> bool:
        if self._few is not None:
            return is_tolerated(self._few, taint)
        return (
            any((key, effect) in self._of_keys for key in (taint.key, "") for effect in (taint.effect, ""))
            or any((taint.key, taint.value, effect) in self._of_values for effect in (taint.effect, ""))
            or is_tolerated(self._comparing, taint)
        )


def _is_soft(taints: Sequence[Taint]) -> bool:
    return any(taint.effect == "PreferNoSchedule" for taint in taints)


class TaintIndex:
    """Groups of equal taints for a table of machines, with the same rows.

    ``groups``: number of different groups of taints, not counting the empty group. ``soft``: how many of these groups
    have some PreferNoSchedule taint.
    """

    _KEPT = 4
    """Number of stored answers; each may be as large as hundreds of columns."""

    def __init__(self) -> None:
        self._column = CodedColumn[tuple[Taint, ...]](())
        self.groups = self.soft = 0
        self.answers: dict[Hashable, tuple[Any, ...]] = {}
        """Answers that ``keep`` stores until any taint changes."""

    def set(self, row: int, taints: tuple[Taint, ...]) -> None:
        """Set the taints of a row."""
        column = self._column
        column.fit(row + 1)
        former = column.by_code[column.codes[row]]
        if taints != former:
            self.answers.clear()
        self.soft += taints not in column.values and _is_soft(taints)
        column.set(row, taints)
        self.soft -= former not in column.values and _is_soft(former)
        self.groups = len(column.values)

    def remove(self, last: int, row: int) -> None:
        """Drop ``row``, and move the ``last`` row to its place."""
        self._column.fit(last + 1)
        self.set(row, self._column.by_code[self._column.codes[last]])
        self.set(last, ())

    def keep(self, key: Hashable, answer: tuple[Any, ...]) -> tuple[Any, ...]:
        """Store an answer under its question, which must include the number of machines; return the answer."""
        if len(self.answers) >= self._KEPT:
            self.answers.clear()
        self.answers[key] = answer
        return answer

    def first_untolerated(self, tolerations: Sequence[Toleration], count: int) -> tuple[Int64, list[Taint]]:
        """Return the index of each machine's first hard taint that is not tolerated, int64[count], and the taints.

        -1: the machine has no hard taint that is not tolerated.
        """
        self._column.fit(count)
        found: dict[Taint, int] = {}
        per_set = np.full(len(self._column), -1, dtype=np.int64)
        lookup = Tolerated(tolerations)
        for code, taints in enumerate(self._column.by_code):
            for taint in taints:
                if taint.effect in HARD_EFFECTS and taint not in lookup:
                    per_set[code] = found.setdefault(taint, len(found))
                    break
        return per_set[self._column.codes[:count]], list(found)

    def count_untolerated_preferences(self, tolerations: Sequence[Toleration], count: int) -> Int64:
        """Return how many PreferNoSchedule taints of each machine are not tolerated: int64[count]."""
        if not self.soft:
            return np.zeros(count, dtype=np.int64)
        self._column.fit(count)
        lookup = Tolerated(tolerations)
        per_set = np.array(
            [
                sum(taint.effect == "PreferNoSchedule" and taint not in lookup for taint in taints)
                for taints in self._column.by_code
            ],
            dtype=np.int64,
        )
        return per_set[self._column.codes[:count]]
