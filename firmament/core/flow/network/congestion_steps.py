"""Machine -> sink arcs: what each further task on a machine costs, in parallel steps of equal width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64


@dataclass(frozen=True, slots=True)
class StepArcs:
    """Steps as arcs: ``machine``: int64[G], index of the machine, those of one adjacent and in order of cost;
    ``count``: int64[M'], arcs of each machine; ``capacity``, ``cost``: int64[G].
    """

    machine: Int64
    count: Int64
    capacity: Int64
    cost: Int64


@dataclass(frozen=True, slots=True)
class Steps:
    """Crowding of some machines at the beginning of a pass; int64[M'] each, except ``step``.

    ``crowd``: units that a task adds for the next; ``placed``: tasks admitted before, per machine that the row stands
    for, of which there are ``times``; ``room``: tasks that the row takes at most; ``most``: steps that are given to
    it, of ``step`` tasks for each machine. A row without crowding has one step for all its room.
    """

    crowd: Int64
    placed: Int64
    times: Int64
    room: Int64
    most: Int64
    step: int

    def arcs(self, merged: Int64 | None = None) -> StepArcs:
        """The arcs; ``merged``: int64[M'], how many first steps of each are one arc at the cost of the dearest."""
        width, used, count = self._sizes()
        skipped = np.zeros_like(count) if merged is None else _skipped(count, merged)
        count = count - skipped
        machine = np.repeat(np.arange(len(count)), count)
        nth = np.arange(len(machine)) - np.repeat(np.cumsum(count) - count, count)
        width, used, room = width[machine], used[machine], self.room[machine]
        last = nth + skipped[machine]
        dearest = np.maximum(last * width - used, 0)
        begin = np.where(nth == 0, 0, dearest)
        end = np.minimum((last + 1) * width - used, room)
        ahead = self.placed[machine] + dearest // self.times[machine]
        return StepArcs(machine, count, end - begin, self.crowd[machine] * (ahead // self.step * self.step))

    def number(self) -> int:
        """How many arcs there are if none are merged."""
        return int(self._sizes()[2].sum())

    def cost(self, tasks: Int64) -> int:
        """Units that ``tasks`` (int64[M']) are charged, each at the cost of its own step."""
        full, rest = np.divmod(tasks, self.times)
        after = self.placed + full
        whole = staircase(after, self.step) - staircase(self.placed, self.step)
        return int((self.crowd * (self.times * whole + rest * (after // self.step * self.step))).sum())

    def _sizes(self) -> tuple[Int64, Int64, Int64]:
        """Tasks per step, tasks of the first step that were placed before, and steps: int64[M'] each."""
        width = self.step * self.times
        flat = self.crowd == 0
        wide = np.where(flat, np.maximum(self.room, 1), width)
        used = np.where(flat, 0, self.placed * self.times % width)
        count = np.minimum(np.where(flat, 1, self.most), -(-(self.room + used) // wide))
        return wide, used, count


def staircase(height: Int64, step: int) -> Int64:
    """The sum over k < height of floor(k / step) * step."""
    full, rest = np.divmod(height, step)
    total: Int64 = step * step * (full * (full - 1) // 2) + full * step * rest
    return total


def _skipped(count: Int64, merged: Int64) -> Int64:
    """Steps of each machine that are no arcs of their own: int64[M']."""
    skipped: Int64 = np.clip(merged, 1, np.maximum(count, 1)) - 1
    return skipped
