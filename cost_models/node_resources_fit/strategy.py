"""What the strategies of NodeResourcesFit have in common: a weighted mean over resources of a score from 0 to 100.

Source: ``resource_allocation.go`` of kube-scheduler's plugin noderesources. For each resource with a weight, the score
follows from what a machine's tasks request once the new one is there, and from what the machine offers. Requests that
are not stated count as kube-scheduler assumes them (``ShapeBatch.demand``). A resource that the machine does not offer
does not count, nor does one that is neither cpu, memory nor ephemeral storage if the task does not ask for it.

kube-scheduler chooses at random among machines of equal score. Where machines are to be filled, each has a place in an
order here, by its name, that is worth less than one of the score: so the tasks of one round fill equal machines one
after another too.
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
"""Resources that count although a task asks for none of them."""

_DEFAULT = ({"name": "cpu"}, {"name": "memory"})
_HEAVIEST = 100


@dataclass(frozen=True, slots=True)
class WeightedResource:
    """A resource that counts, and how much beside the others."""

    name: str
    weight: int


Scores: TypeAlias = list[tuple[int, Int64]]
"""Of each resource that counts for a task its weight, and int64[M], from 0 to 100, -1 where it does not count."""


class FitStrategy(BaseModel):
    """A base policy whose native figure is ``100 - score``; its fraction is the machine's place in the order."""

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
        """Whether the score nowhere falls as more is requested."""
        return True

    def read_further(self, read: Arguments) -> None:
        """Read the arguments that the strategy has besides ``resources``."""

    @abstractmethod
    def score_resource(self, requested: Int64, capacity: Int64) -> Int64:
        """Return int64[M], 0 to 100: how good it is that so much of each ``capacity`` (1 or more) is requested."""

    @abstractmethod
    def combine(self, scores: Scores, machines: int) -> Int64:
        """Return the score of each machine: int64[M], 0 to 100."""

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return float64[S, M], and the scores as kube-scheduler computes them."""
        order = find_order(machines.names) if self.fills else np.zeros(machines.count)
        score = np.empty((shapes.count, machines.count))
        known: dict[tuple[int, int], Int64] = {}
        for row, demand in zip(score, shapes.demand, strict=True):
            row[:] = self.combine(self._score_resources(machines, demand, known), machines.count)
        return Assessment(raw=MAX_SCORE - score + order, score=score)

    def _score_resources(
        self, machines: MachineColumns, demand: Int64, known: dict[tuple[int, int], Int64]
    ) -> Scores:
        """Return what a task with ``demand`` (int64[K]) makes of each resource. ``known``: by column and amount."""
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
    """Return where each machine stands in an order of all names there may be: float64[M], from 0 to below 1."""
    return np.fromiter(map(_find_place, names), dtype=np.float64, count=len(names))


@lru_cache(maxsize=2**17)
def _find_place(name: str) -> float:
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little") / 2**32
