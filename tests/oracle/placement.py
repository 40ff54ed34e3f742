"""A placement problem as nested lists: what fits, what a placement costs, and every placement there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class JointLimit:
    """Row ``row_of[m]`` (-1: none) takes ``amount[s]`` of every task of shape s on machine m, up to ``left``."""

    row_of: list[int]
    amount: list[int]
    left: list[int]


@dataclass
class PlainProblem:
    """``waiting[c][b]``: tasks by class and wait bucket; ``free[m][k]``; ``placed[m]``: tasks placed there before.

    ``total``: tasks of the round at its beginning, on which the width of the crowding steps depends.
    """

    waiting: list[list[int]]
    priority: list[int]
    shape: list[int]
    requests: list[list[int]]
    feasible: list[list[bool]]
    cost: list[list[int]]
    crowd: list[int]
    free: list[list[int]]
    placed: list[int]
    total: int
    pins: dict[int, list[int]] = field(default_factory=dict)
    joint: list[JointLimit] = field(default_factory=list)

    @property
    def machines(self) -> range:
        return range(len(self.free))

    @property
    def active(self) -> list[int]:
        """Classes that still wait."""
        return [c for c, buckets in enumerate(self.waiting) if sum(buckets)]

    def units(self, cls: int, machine: int) -> int:
        """How many tasks of a class the machine could take if it took nothing else."""
        shape = self.shape[cls]
        if not self.feasible[shape][machine] or machine not in self.pins.get(cls, self.machines):
            return 0
        most = sum(self.waiting[cls])
        for amount, free in zip(self.requests[shape], self.free[machine], strict=True):
            if amount > 0:
                most = min(most, free // amount)
        for joint in self.joint:
            row = joint.row_of[machine]
            if row >= 0 and joint.amount[shape] > 0:
                most = min(most, joint.left[row] // joint.amount[shape])
        return max(0, most)

    def room(self, machine: int) -> int:
        """A bound on the tasks, of any mix of the waiting classes, that the machine can take."""
        most = sum(map(sum, self.waiting))
        for k, free in enumerate(self.free[machine]):
            smallest = min(self.requests[self.shape[cls]][k] for cls in self.active)
            if smallest > 0:
                most = min(most, free // smallest)
        return max(0, most)

    def crowding(self, machine: int, nth: int) -> int:
        """What the ``nth`` task from now on (from 0) pays for those before it, in steps."""
        step = max(1, self.total // (16 * max(1, len(self.free))))
        return self.crowd[machine] * ((self.placed[machine] + nth) // step * step)

    def violated(self, placement: dict[tuple[int, int], int]) -> list[str]:
        """What is wrong with a placement ((class, machine) -> tasks): one line per broken limit."""
        faults = []
        for (cls, machine), count in placement.items():
            if count > self.units(cls, machine):
                faults.append(f"{count} of class {cls} on machine {machine}: {self.units(cls, machine)} fit")
        for cls, buckets in enumerate(self.waiting):
            if sum(n for (c, _), n in placement.items() if c == cls) > sum(buckets):
                faults.append(f"more of class {cls} than wait")
        for machine in self.machines:
            for k, free in enumerate(self.free[machine]):
                used = sum(
                    n * self.requests[self.shape[c]][k] for (c, m), n in placement.items() if m == machine
                )
                if used > max(free, 0):
                    faults.append(f"machine {machine}: {used} of resource {k} used, {free} free")
        for joint in self.joint:
            for row, left in enumerate(joint.left):
                used = sum(
                    n * joint.amount[self.shape[c]]
                    for (c, m), n in placement.items()
                    if joint.row_of[m] == row
                )
                if used > left:
                    faults.append(f"joint row {row}: {used} used, {left} left")
        return faults

    def total_cost(self, placement: dict[tuple[int, int], int], penalties: list[list[int]]) -> int:
        """Model costs, crowding task by task, and the penalties of those left; the longest waiting go first."""
        total = 0
        for machine in self.machines:
            count = sum(n for (_, m), n in placement.items() if m == machine)
            total += sum(self.crowding(machine, nth) for nth in range(count))
        for (cls, machine), count in placement.items():
            total += count * self.cost[self.shape[cls]][machine]
        for cls, buckets in enumerate(self.waiting):
            gone = sum(n for (c, _), n in placement.items() if c == cls)
            pending = [penalties[cls][bucket] for bucket, n in enumerate(buckets) for _ in range(n)]
            total += sum(pending[gone:])
        return total

    def placements(self) -> Iterator[dict[tuple[int, int], int]]:
        """Every placement that breaks no limit. Only for a handful of tasks."""
        choices = [
            (cls, machine) for cls in self.active for machine in self.machines if self.units(cls, machine)
        ]
        yield from self._extended({}, choices)

    def _extended(
        self, placement: dict[tuple[int, int], int], choices: list[tuple[int, int]]
    ) -> Iterator[dict[tuple[int, int], int]]:
        if not choices:
            yield dict(placement)
            return
        first, rest = choices[0], choices[1:]
        for count in range(self.units(*first) + 1):
            wider = {**placement, first: count} if count else placement
            if self.violated(wider):
                break
            yield from self._extended(wider, rest)
