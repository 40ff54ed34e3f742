"""Which child of a unit holds which count of a profile: a transportation problem with few kinds of counts, exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

IDLE = 0


def assign(
    profile: Sequence[int], weights: Sequence[Mapping[int, int]], must: Sequence[bool]
) -> tuple[list[int], int]:
    """The cheapest way to give the counts of ``profile`` (largest first) to children, one each, and what it costs.

    ``weights``: per child, what each count that it may hold costs; ``must``: children that may not be left out. Some
    way has to exist. Of children that are alike the earlier one holds no less.
    """
    needed = Counter(profile)
    if len(needed) == 1:
        chosen = _cheapest(profile[0], len(profile), weights, must)
    else:
        chosen = _Augmentation(needed, weights, must).solve()
        _earlier_first(chosen, weights, must)
    return chosen, sum(weights[child][count] for child, count in enumerate(chosen) if count)


def _cheapest(
    count: int, number: int, weights: Sequence[Mapping[int, int]], must: Sequence[bool]
) -> list[int]:
    """All counts alike: the children that have to be used, then the cheapest."""
    able = sorted(
        (not must[child], each[count], child) for child, each in enumerate(weights) if count in each
    )
    chosen = [0] * len(weights)
    for _, _, child in able[:number]:
        chosen[child] = count
    return chosen


def _earlier_first(chosen: list[int], weights: Sequence[Mapping[int, int]], must: Sequence[bool]) -> None:
    """Among children that are alike, hand the larger counts to the earlier ones."""
    alike: dict[tuple[bool, tuple[tuple[int, int], ...]], list[int]] = {}
    for child, each in enumerate(weights):
        alike.setdefault((must[child], tuple(sorted(each.items()))), []).append(child)
    for children in alike.values():
        if len(children) > 1:
            for child, count in zip(
                children, sorted((chosen[child] for child in children), reverse=True), strict=True
            ):
                chosen[child] = count


class _Augmentation:
    """Successive shortest paths over kinds of counts: each step one child more holds a count, and a chain of children
    that exchange their counts makes room for it in the cheapest way (a min-cost flow whose nodes are the kinds).

    The cheapest child to move from one kind to another is on top of a heap per pair of kinds; entries of children that
    have moved since are dropped when they come up.
    """

    __slots__ = ("heaps", "held", "kinds", "needed", "weights")

    def __init__(
        self, needed: Mapping[int, int], weights: Sequence[Mapping[int, int]], must: Sequence[bool]
    ) -> None:
        self.needed = needed
        self.kinds = [IDLE, *sorted(needed, reverse=True)]
        # What is left out though it must not be costs more than any choice among the others.
        dear = 1 + 2 * sum(max(map(abs, each.values()), default=0) for each in weights)
        self.weights = [
            {IDLE: dear if required else 0} | {kind: each[kind] for kind in self.kinds[1:] if kind in each}
            for each, required in zip(weights, must, strict=True)
        ]
        self.held = [IDLE] * len(weights)
        self.heaps: dict[tuple[int, int], list[tuple[int, int]]] = {
            (before, after): [] for before in self.kinds for after in self.kinds if before != after
        }
        for child, each in enumerate(self.weights):
            for kind in each:
                if kind != IDLE:
                    self.heaps[IDLE, kind].append((each[kind] - each[IDLE], child))
        for kind in self.kinds[1:]:
            heapify(self.heaps[IDLE, kind])

    def solve(self) -> list[int]:
        """Per child its count, 0 if it is left out."""
        for kind in self.kinds[1:]:
            for _ in range(self.needed[kind]):
                self._add(kind)
        return self.held

    def _add(self, kind: int) -> None:
        """One child more holds ``kind``, by the cheapest chain of moves."""
        moves = {pair: top for pair in self.heaps if (top := self._top(*pair)) is not None}
        cost: dict[int, int] = {IDLE: 0}
        before: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for (start, end), (price, _) in moves.items():
                if start in cost and end != IDLE and (end not in cost or cost[start] + price < cost[end]):
                    cost[end], before[end] = cost[start] + price, start
                    changed = True
        while kind != IDLE:
            child = moves[before[kind], kind][1]
            self._move(child, kind)
            kind = before[kind]

    def _top(self, before: int, after: int) -> tuple[int, int] | None:
        """The cheapest child that holds ``before`` and may hold ``after``, with what the change costs."""
        heap = self.heaps[before, after]
        while heap and self.held[heap[0][1]] != before:
            heappop(heap)
        return heap[0] if heap else None

    def _move(self, child: int, kind: int) -> None:
        self.held[child] = kind
        each = self.weights[child]
        for other, weight in each.items():
            if other != kind:
                heappush(self.heaps[kind, other], (weight - each[kind], child))
