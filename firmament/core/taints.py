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

HARD_EFFECTS = ("NoSchedule", "NoExecute")
CORDON_TAINT = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
"""What a cordoned machine is taken to carry: tasks that tolerate it may still go there."""


NOT_READY_TAINT = Taint(key="node.kubernetes.io/not-ready", value="", effect="NoSchedule")
"""What a machine that is not ready is taken to carry, whether or not the cluster has put it there yet."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration matches one taint (core/v1 Toleration.ToleratesTaint)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations matches the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


class TaintIndex:
    """Taint groups over a table of machines, whose rows it follows."""

    def __init__(self) -> None:
        self._sets: list[tuple[Taint, ...]] = [()]
        self._code: dict[tuple[Taint, ...], int] = {(): 0}
        self._codes: NDArray[np.int32] = np.zeros(64, dtype=np.int32)
        self.any_soft = False
        """Whether a PreferNoSchedule taint has ever been seen."""

    def set(self, row: int, taints: tuple[Taint, ...]) -> None:
        """Set the taints of a row."""
        if row >= len(self._codes):
            self._codes = np.concatenate([self._codes, np.zeros(len(self._codes), dtype=np.int32)])
        if taints not in self._code:
            self._code[taints] = len(self._sets)
            self._sets.append(taints)
            self.any_soft = self.any_soft or any(taint.effect == "PreferNoSchedule" for taint in taints)
        self._codes[row] = self._code[taints]

    def move(self, source: int, target: int) -> None:
        """Let row ``target`` take over the taints of row ``source``."""
        self._codes[target] = self._codes[source]

    def first_untolerated(self, tolerations: Sequence[Toleration], count: int) -> tuple[Int64, list[Taint]]:
        """Per machine the first hard taint that is not tolerated: an index (int64[count], -1: none) and the taints."""
        found: list[Taint] = []
        per_set = np.full(len(self._sets), -1, dtype=np.int64)
        for code, taints in enumerate(self._sets):
            for taint in taints:
                if taint.effect in HARD_EFFECTS and not tolerated(tolerations, taint):
                    if taint not in found:
                        found.append(taint)
                    per_set[code] = found.index(taint)
                    break
        return per_set[self._codes[:count]], found

    def untolerated_preferences(self, tolerations: Sequence[Toleration], count: int) -> Int64:
        """int64[count]: PreferNoSchedule taints per machine that are not tolerated."""
        if not self.any_soft:
            return np.zeros(count, dtype=np.int64)
        soft = [toleration for toleration in tolerations if toleration.effect in {"", "PreferNoSchedule"}]
        per_set = np.array(
            [
                sum(taint.effect == "PreferNoSchedule" and not tolerated(soft, taint) for taint in taints)
                for taints in self._sets
            ],
            dtype=np.int64,
        )
        return per_set[self._codes[:count]]
