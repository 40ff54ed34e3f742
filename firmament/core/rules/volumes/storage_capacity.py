"""Checks capacity as VolumeBinding does: a machine must reach storage for the volumes to be created for a task.

A machine is suitable if storage that it reaches can hold a volume as large as the largest needed one
(`hasEnoughCapacity`). If capacities are stated for scoring, each storage class of a task gets the share that stays
unused, 0 to 100. A machine's score is the mean of the task's shares (`StorageCapacityScoring`, default shape).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cost_models.interface import Bool, Float64
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import NewStorage, TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.selectors.machine_contents import StorageIndex
from firmament.core.state.machines import MachineTable

WEIGHT = 1
"""kube-scheduler's default weight of the plugin's score."""


class StorageCapacity(NodeRule):
    """Requires that a machine reaches free storage for the largest new volume of each storage class.

    The answers do not last, as free storage changes.
    """

    name = "VolumeBinding (capacity)"
    reasons = (Reason.NO_STORAGE,)
    reads_of_task = ("new_storage",)
    reads_of_machine = ("storage",)
    for_tasks_with = ("new_storage",)
    scores_tasks_with = ("new_storage",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines without enough storage."""
        lacking = find_without_storage(machines.storage, shape.new_storage, len(machines))
        yield MachineRefusal(Cause(Reason.NO_STORAGE), lacking)

    def count_checks(self, content: TaskClass) -> int:
        """Return one check for each storage class of a class's new volumes."""
        return len(content.new_storage)

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:  # noqa: ARG002
        """Return the cost by the share of stated capacities that would be used; None if no capacity is stated."""
        unused = score_unused_storage(machines.storage, shape.new_storage, len(machines))
        return None if unused is None else SoftCost.from_score(WEIGHT, unused, unused)


def find_without_storage(index: StorageIndex, wanted: Sequence[NewStorage], machines: int) -> Bool:
    """Return bool[``machines``]: those without storage for the largest new volume of some wanted storage class."""
    enough = np.ones(machines, dtype=np.bool_)
    for each in wanted:
        room = np.zeros(machines, dtype=np.bool_)
        column = index.get(each.storage_class)
        if column is not None:
            room[column.rows[column.largest >= each.largest]] = True
        enough &= room
    return ~enough


def score_unused_storage(index: StorageIndex, wanted: Sequence[NewStorage], machines: int) -> Float64 | None:
    """Return what share of the wanted storage classes' capacity stays free on each machine, in percent.

    The result is float64[``machines``]. The score is that of kube-scheduler's StorageCapacityScoring; None if no
    capacity is known.
    """
    score = np.zeros(machines)
    classes = np.zeros(machines)
    for each in wanted:
        column = index.get(each.storage_class)
        if column is None:
            continue
        scored = column.capacity > 0
        rows, capacity = column.rows[scored], column.capacity[scored]
        used = np.minimum(100, 100.0 * each.total // capacity)
        score[rows] += 100 - used
        classes[rows] += 1
    if not classes.any():
        return None
    return np.rint(score / np.maximum(classes, 1))
