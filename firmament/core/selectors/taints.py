"""Taints of machines, grouped: machines with equal taints share a code, so a toleration is checked once per group.

Semantics as in core/v1 at scheduling time: NoSchedule and NoExecute keep a task away unless tolerated,
PreferNoSchedule only costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.model import Taint, Toleration
from firmament.core.selectors.labels import parse_integer

HARD_EFFECTS = ("NoSchedule", "NoExecute")
CORDON_TAINT = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
"""What a cordoned machine is taken to carry: tasks that tolerate it may still go there."""


NOT_READY_TAINT = Taint(key="node.kubernetes.io/not-ready", value="", effect="NoSchedule")
"""What a machine that is not ready is taken to carry, whether or not the cluster has put it there yet."""


FEW = 4
"""Tolerations that are gone through one by one faster than they are looked up."""

COMPARING = ("Gt", "Lt")
"""Operators that compare integers."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration matches one taint (core/v1 Toleration.ToleratesTaint)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in COMPARING:
        return bool(toleration.key) and _compares(toleration, taint)
    return bool(toleration.key) and toleration.value == taint.value


def decimal(text: str) -> int | None:
    """The integer that a toleration compares: written as people write them, without zeros or a plus in front."""
    number = parse_integer(text)
    return number if str(number) == text else None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Whether the taint's value lies above (Gt) or below (Lt) the toleration's (KEP-5471)."""
    bound, found = decimal(toleration.value), decimal(taint.value)
    if bound is None or found is None:
        return False
    return found > bound if toleration.operator == "Gt" else found < bound


def tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations matches the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


class Tolerated:
    """The taints that any of some tolerations matches: as `tolerated` says, at the same cost however many there are."""

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
            return tolerated(self._few, taint)
        return (
            any((key, effect) in self._of_keys for key in (taint.key, "") for effect in (taint.effect, ""))
            or any((taint.key, taint.value, effect) in self._of_values for effect in (taint.effect, ""))
            or tolerated(self._comparing, taint)
        )


def _is_soft(taints: Sequence[Taint]) -> bool:
    return any(taint.effect == "PreferNoSchedule" for taint in taints)


class TaintIndex:
    """Taint groups over a table of machines, whose rows it follows.

    ``groups``: how many different ones there are, none not counted; ``soft``: of those, the ones with some
    PreferNoSchedule taint.
    """

    def __init__(self) -> None:
        self._sets: list[tuple[Taint, ...]] = [()]
        self._code: dict[tuple[Taint, ...], int] = {(): 0}
        self._machines = [0]  # by code: how many have these taints; the one of no taints stays
        self._free: list[int] = []
        self._codes: NDArray[np.int32] = np.zeros(64, dtype=np.int32)
        self.groups = self.soft = 0

    def set(self, row: int, taints: tuple[Taint, ...]) -> None:
        """Set the taints of a row."""
        self._fit(row + 1)
        former = int(self._codes[row])
        code = self._codes[row] = self._code_of(taints)
        if taints:
            self._machines[code] += 1
        if former:
            self._leave(former)

    def remove(self, last: int, row: int) -> None:
        """Drop ``row`` by moving the ``last`` one into its place."""
        self._fit(last + 1)
        self.set(row, self._sets[self._codes[last]])
        self.set(last, ())

    def _fit(self, rows: int) -> None:
        """Rows that were never set have no taints."""
        if rows > len(self._codes):
            more = np.zeros(max(rows, 2 * len(self._codes)) - len(self._codes), dtype=np.int32)
            self._codes = np.concatenate([self._codes, more])

    def _code_of(self, taints: tuple[Taint, ...]) -> int:
        code = self._code.get(taints)
        if code is not None:
            return code
        if self._free:
            code = self._free.pop()
            self._sets[code] = taints
        else:
            code = len(self._sets)
            self._sets.append(taints)
            self._machines.append(0)
        self._code[taints] = code
        self.groups += 1
        self.soft += _is_soft(taints)
        return code

    def _leave(self, code: int) -> None:
        """A machine has the taints of ``code`` no more."""
        self._machines[code] -= 1
        if not self._machines[code]:
            taints = self._sets[code]
            del self._code[taints]
            self._sets[code] = ()
            self._free.append(code)
            self.groups -= 1
            self.soft -= _is_soft(taints)

    def first_untolerated(self, tolerations: Sequence[Toleration], count: int) -> tuple[Int64, list[Taint]]:
        """Per machine the first hard taint that is not tolerated: an index (int64[count], -1: none) and the taints."""
        self._fit(count)
        found: dict[Taint, int] = {}
        per_set = np.full(len(self._sets), -1, dtype=np.int64)
        lookup = Tolerated(tolerations)
        for code, taints in enumerate(self._sets):
            for taint in taints:
                if taint.effect in HARD_EFFECTS and taint not in lookup:
                    per_set[code] = found.setdefault(taint, len(found))
                    break
        return per_set[self._codes[:count]], list(found)

    def untolerated_preferences(self, tolerations: Sequence[Toleration], count: int) -> Int64:
        """int64[count]: PreferNoSchedule taints per machine that are not tolerated."""
        if not self.soft:
            return np.zeros(count, dtype=np.int64)
        self._fit(count)
        lookup = Tolerated(tolerations)
        per_set = np.array(
            [
                sum(taint.effect == "PreferNoSchedule" and taint not in lookup for taint in taints)
                for taints in self._sets
            ],
            dtype=np.int64,
        )
        return per_set[self._codes[:count]]
