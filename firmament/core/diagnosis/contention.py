"""To whom a task lost the place it could have had when its round began."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments
from firmament.core.placement.priority_tiers import Standing
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster

NAMED = 2
"""Tasks that are named in a message, all of the namespace of whom it is for; the others are counted."""


class Contention:
    """Places at the beginning of a round, and the tasks that took them."""

    def __init__(self, cluster: Cluster, snapshot: Snapshot, placed: Assignments) -> None:
        self._cluster = cluster
        self._snapshot = snapshot
        self._placed = placed
        self._start = Standing(snapshot.problem)

    def told(self, index: int, readers: Iterable[int]) -> str:
        """A sentence about a class of the snapshot of which tasks stay pending; empty if it had no place to lose.

        It is told ``readers`` (rows), who learn no names of tasks in other namespaces than their own.
        """
        if len(self._placed.cls) == 0:
            return ""
        places = np.flatnonzero(self._start.takes(index))
        taken = places[np.isin(places, self._placed.machine)]
        if len(places) == 0:
            return ""
        machine = int((taken if len(taken) else places)[0])
        name = self._snapshot.machine_names[machine]
        others, spaces = self._takers(machine), {_space(self._cluster.tasks.name[row]) for row in readers}
        named = [each for each in others if spaces == {_space(each)}][:NAMED]
        if not named:
            return f" {name} had room until other pods of the same round were placed."
        more = f" and {len(others) - len(named)} more" if len(others) > len(named) else ""
        return f" {name} had room until {', '.join(named)}{more} took it in the same round."

    def _takers(self, machine: int) -> list[str]:
        """Names of the tasks that the round has put on a machine of the snapshot."""
        name = self._snapshot.machine_names[machine]
        row = self._cluster.machines.row_of.get(name)
        classes: Int64 = np.unique(self._placed.cls[self._placed.machine == machine])
        members = np.concatenate(
            [self._snapshot.members[each] for each in classes.tolist()] or [np.empty(0, dtype=np.int64)]
        )
        tasks = self._cluster.tasks
        return [tasks.name[task] for task in members[tasks.machine[members] == row].tolist()]


def _space(name: str) -> str:
    """The namespace in a name such as ``namespace/name``, "" for none."""
    return name.rpartition("/")[0]
