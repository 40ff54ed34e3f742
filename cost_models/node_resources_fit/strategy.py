"""Common base of the strategies of NodeResourcesFit: each resource scores 0 to 100, a machine their weighted mean.

Source: ``resource_allocation.go`` of kube-scheduler's plugin noderesources. The score of a resource depends on how
much the machine offers, and on how much its tasks request once the new one is there. A task without requests counts
with those that kube-scheduler assumes (``ShapeBatch.demand``). Of all resources, only those that the machine offers
count. Resources other than cpu, memory and ephemeral storage count only if the task requests them.

kube-scheduler chooses at random among machines of equal score. To fill machines one by one, this module gives each
machine a place in an order by its name, which counts for less than one unit of the score. The tasks of a round thus
fill equal machines one after another.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from cost_models.arguments import Arguments
from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Promises,
    Range,
    ShapeBatch,
)

MAX_SCORE = 100
"""kube-scheduler's MaxNodeScore."""

ALWAYS_COUNTED = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that count even if a task does not request them."""

_DEFAULT = ({"name": "cpu"}, {"name": "memory"})
_HEAVIEST = 100


@dataclass(frozen=True, slots=True)
class WeightedResource:
    """A resource that the strategy scores, and its weight."""

    name: str
    weight: int


Scores: TypeAlias = list[tuple[int, Int64]]
"""For each resource that counts for a task: its weight, and its score on each machine, int64[M], 0 to 100, or -1 where
it does not count.
"""


class FitStrategy(BaseModel):
    """A base policy that charges ``100 - score``, and a fraction of a point for the machine's place in the order."""

    name: str
    kind = "policy"
    range = Range(best=0.0, worst=MAX_SCORE + 1.0)
    promises = Promises(per_machine=True)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self._resources = read_resources(self.name, read.entries("resources") or _DEFAULT)
        self.read_further(read)
        read.finish()

    @property
    def fills(self) -> bool:
        """Whether the score never falls as more is requested."""
        return True

    def read_further(self, read: Arguments) -> None:
        """Read the arguments that the strategy has besides ``resources``."""

    @abstractmethod
    def score_resource(self, requested: Int64, capacity: Int64) -> Int64:
        """Return the score for ``requested`` of ``capacity`` (1 or more): int64[M], 0 to 100."""

    @abstractmethod
    def combine(self, scores: Scores, machines: int) -> Int64:
        """Return the score of each machine: int64[M], 0 to 100."""

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the cost of each machine, float64[S, M], and its score as kube-scheduler computes it."""
        order = find_order(machines.names) if self.fills else np.zeros(machines.count)
        score = np.empty((shapes.count, machines.count))
        known: dict[tuple[int, int], Int64] = {}
        for row, demand in zip(score, shapes.demand, strict=True):
            row[:] = self.combine(self._score_resources(machines, demand, known), machines.count)
        return Assessment(raw=MAX_SCORE - score + order, score=score)

    def _score_resources(
        self, machines: MachineColumns, demand: Int64, known: dict[tuple[int, int], Int64]
    ) -> Scores:
        """Return each resource's scores with a further task of ``demand`` (int64[K]). ``known``: earlier results by
        column and amount.
        """
        found: Scores = []
        for resource in self._resources:
            column = machines.column(resource.name)
            if column is None:
                continue
            amount = int(demand[column])
            if amount == 0 and resource.name not in ALWAYS_COUNTED:
                continue
            scores = known.get((column, amount))
            if scores is None:
                capacity = machines.capacity[:, column]
                requested = machines.get_requested(column) + amount
                scores = np.where(capacity > 0, self.score_resource(requested, np.maximum(capacity, 1)), -1)
                known[column, amount] = scores
            found.append((resource.weight, scores))
        return found


def read_resources(model: str, entries: Sequence[Any]) -> tuple[WeightedResource, ...]:
    """Return the resources that count. Raises ``ModelArgumentError``."""
    found = []
    for number, entry in enumerate(entries):
        read = Arguments(f"{model}: resources[{number}]", entry)
        found.append(
            WeightedResource(read.text("name", ""), read.whole("weight", 1, least=1, most=_HEAVIEST))
        )
        read.finish()
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise Arguments(model, {}).error("resources", name, "named once")
    return tuple(found)


def find_order(names: Sequence[str]) -> Float64:
    """Return each machine's place in an order of all possible names: float64[M], from 0 to below 1."""
    return np.fromiter(map(_find_place, names), dtype=np.float64, count=len(names))


@lru_cache(maxsize=2**17)
def _find_place(name: str) -> float:
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little") / 2**32
